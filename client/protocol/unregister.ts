import { RequestCode } from "./codes.ts";
import type { Request } from "./command.ts";
import { type ExtFields, optionalText, requireText } from "./fields.ts";

/** A client leaves a group; a broker that does not hear it finds out when the connection ends. */
export interface Unregistration {
  readonly clientID: string;
  readonly producerGroup?: string | undefined;
  readonly consumerGroup?: string | undefined;
}

export const unregisterRequest = ({ clientID, producerGroup, consumerGroup }: Unregistration): Request => ({
  code: RequestCode.UNREGISTER_CLIENT,
  extFields: { clientID, ...(producerGroup && { producerGroup }), ...(consumerGroup && { consumerGroup }) },
});

export const decodeUnregister = (fields: ExtFields): Unregistration => ({
  clientID: requireText(fields, "clientID"),
  producerGroup: optionalText(fields, "producerGroup"),
  consumerGroup: optionalText(fields, "consumerGroup"),
});
