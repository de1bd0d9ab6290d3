import { BaseClient } from "./client.ts";
import { UnsupportedError } from "./errors.ts";
import type { ClientEvents } from "./events.ts";

/** The questions that producers and consumers put to brokers alike. Not built yet: each is refused. */
export abstract class QueryingClient<Events extends ClientEvents = ClientEvents> extends BaseClient<Events> {
  minOffset(): Promise<never> {
    return refuse("minOffset");
  }
  maxOffset(): Promise<never> {
    return refuse("maxOffset");
  }
  searchOffset(): Promise<never> {
    return refuse("searchOffset");
  }
  earliestMsgStoreTime(): Promise<never> {
    return refuse("earliestMsgStoreTime");
  }
  viewMessage(): Promise<never> {
    return refuse("viewMessage");
  }
  queryMessage(): Promise<never> {
    return refuse("queryMessage");
  }
}

/** What a member that is not built yet answers. */
export const refuse = (member: string): Promise<never> =>
  Promise.reject(new UnsupportedError(`${member}() is not supported yet`));
