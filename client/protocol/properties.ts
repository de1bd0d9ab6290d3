import { ArgumentError } from "../errors.ts";

/** Between a name and its value. */
export const NAME_VALUE = "\u0001";
/** Behind a property. */
export const PROPERTY = "\u0002";

/** Longest properties text in UTF-8 bytes: its length is a signed 16-bit number in every record. */
export const PROPERTIES_MAX = 32_767;

/**
 * Message properties on the wire: properties = *( name %x01 value %x02 ).
 * Throws `ArgumentError` when a name or value holds a separator that would cut it in two.
 */
export function encodeProperties(properties: Readonly<Record<string, string>>): string {
  let text = "";
  for (const name in properties) {
    if (!Object.hasOwn(properties, name)) continue;
    const value = properties[name]!;
    if (typeof value !== "string") {
      throw new ArgumentError(`Cannot encode property ${JSON.stringify(name)}: its value is no string`);
    }
    if (name.includes(NAME_VALUE) || name.includes(PROPERTY) || value.includes(PROPERTY)) throw unwritable(name);
    text += name + NAME_VALUE + value + PROPERTY;
  }
  return text;
}

/**
 * The last separator may be missing (4.9). A pair is split at its first %x01, so a value may hold one; a pair without one,
 * or with an empty half, is ignored; of two equal names the last wins. The result has no prototype: any name is safe.
 */
export function decodeProperties(text: string): Record<string, string> {
  const properties = emptyProperties();
  for (let from = 0; from < text.length;) {
    const split = text.indexOf(NAME_VALUE, from);
    if (split < 0) break;
    // Whatever ends before the split is a pair without one.
    const start = Math.max(from, text.lastIndexOf(PROPERTY, split) + 1);
    let end = text.indexOf(PROPERTY, split);
    if (end < 0) end = text.length;
    if (split > start && split < end - 1) properties[text.slice(start, split)] = text.slice(split + 1, end);
    from = end + 1;
  }
  return properties;
}

/** A record for names from outside: `__proto__` is a name like any other in it. */
export const emptyProperties = (): Record<string, string> => Object.create(null) as Record<string, string>;

const unwritable = (name: string): ArgumentError =>
  new ArgumentError(`Cannot encode property ${JSON.stringify(name)}: it holds a separator, U+0001 or U+0002`);
