import { ArgumentError, FrameError } from "../errors.ts";
import { checkPropertiesLength } from "./record.ts";
import { decodeText, encodeText } from "./text.ts";

/** One message of a batch: of a batch that is sent, and of an inner batch that a broker keeps as one record. */
export interface BatchElement {
  readonly flag: number;
  readonly body: Uint8Array;
  /** As `encodeProperties` writes them. */
  readonly properties: string;
}

/** Bytes of an element besides body and properties. */
const ELEMENT_MIN = 22;

/**
 * batch = *( totalSize int32, magic int32 (0), crc int32 (0), flag int32, bodyLength int32, body, propertiesLength int16,
 * properties ). Throws `ArgumentError` when properties are longer than 32767 bytes.
 */
export function encodeBatch(elements: readonly BatchElement[]): Uint8Array {
  if (elements.length === 0) throw new ArgumentError("Cannot encode an empty batch");
  const properties = elements.map((element) => encodeText(element.properties));
  let total = 0;
  for (const [index, element] of elements.entries()) {
    checkPropertiesLength(properties[index]!.length);
    total += ELEMENT_MIN + element.body.length + properties[index]!.length;
  }
  const bytes = new Uint8Array(total);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [index, { flag, body }] of elements.entries()) {
    const text = properties[index]!;
    const size = ELEMENT_MIN + body.length + text.length;
    view.setInt32(at, size);
    view.setInt32(at + 12, flag);
    view.setInt32(at + 16, body.length);
    bytes.set(body, at + 20);
    view.setInt16(at + 20 + body.length, text.length);
    bytes.set(text, at + ELEMENT_MIN + body.length);
    at += size;
  }
  return bytes;
}

/** The elements; their bodies are views. Throws `FrameError` when lengths contradict each other. */
export function decodeBatch(batch: Uint8Array): BatchElement[] {
  const view = new DataView(batch.buffer, batch.byteOffset, batch.length);
  const elements: BatchElement[] = [];
  for (let at = 0; at < batch.length;) {
    const element = elementAt(view, at, batch.length);
    if (!element) throw new FrameError(`The lengths of element ${elements.length} of a batch contradict each other`);
    const { flag, bodyAt, bodyLength, propertiesAt, propertiesLength } = element;
    const properties = decodeText(batch.subarray(propertiesAt, propertiesAt + propertiesLength));
    elements.push({ flag, body: batch.subarray(bodyAt, bodyAt + bodyLength), properties });
    at = element.end;
  }
  return elements;
}

/** Positions of one element, counted from the start of the bytes. */
export interface ElementLayout {
  readonly flag: number;
  readonly bodyAt: number;
  readonly bodyLength: number;
  readonly propertiesAt: number;
  readonly propertiesLength: number;
  readonly end: number;
}

/** The element at `at`; undefined when it does not fit the bytes up to `to`, or contradicts itself. */
export function elementAt(view: DataView, at: number, to: number): ElementLayout | undefined {
  const size = at + ELEMENT_MIN <= to ? view.getInt32(at) : 0;
  const end = at + size;
  if (size < ELEMENT_MIN || end > to) return undefined;
  const bodyLength = view.getInt32(at + 16);
  const propertiesAt = at + ELEMENT_MIN + bodyLength;
  if (bodyLength < 0 || propertiesAt > end) return undefined;
  const propertiesLength = view.getInt16(propertiesAt - 2);
  if (propertiesLength < 0 || propertiesAt + propertiesLength > end) return undefined;
  return { flag: view.getInt32(at + 12), bodyAt: at + 20, bodyLength, propertiesAt, propertiesLength, end };
}
