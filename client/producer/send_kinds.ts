import { ArgumentError } from "../errors.ts";
import { NAME_VALUE, PROPERTY } from "../protocol/properties.ts";
import * as names from "../protocol/property_names.ts";
import type { SendKind } from "../protocol/send.ts";
import { textLength } from "../protocol/text.ts";

/** Kinds of one producer that have header programs; messages of further ones go the cold way. */
const KINDS_MAX = 256;
/** Tags that are part of literals; from then on they are arguments. */
const TAGS_MAX = 64;
/** Longer constants and names have no program: it would take too much of the arena. */
const LITERALS_MAX = 1_024;
/** UNIQ_KEY with its value and its separators. */
const UNIQ_KEY_BYTES = names.UNIQ_KEY.length + 34;

/** Which properties a message has. */
export interface Properties {
  readonly tags: string | undefined;
  readonly isWaiting: boolean;
  readonly isKeyed: boolean;
  readonly isDelayed: boolean;
  /** The user's own. */
  readonly own: Readonly<Record<string, string>> | undefined;
}

/** A kind of message, as one producer knows it. */
export class ProducerKind implements SendKind {
  /** Below KINDS_MAX, for tables; -1: it has no programs. */
  readonly index: number;
  readonly constants: string;
  readonly names: readonly string[];
  readonly isFlagged: boolean;
  /** Bytes of all properties but for the values of `names`. */
  readonly bytes: number;
  readonly #tags: string | undefined;
  readonly #hasTagArgument: boolean;
  readonly #properties: Properties;
  readonly #own: readonly string[];

  constructor(index: number, properties: Properties, hasTagArgument: boolean, isFlagged: boolean) {
    const { tags, isWaiting, isKeyed, isDelayed, own } = properties;
    this.index = index;
    this.isFlagged = isFlagged;
    this.#properties = properties;
    this.#tags = tags;
    this.#hasTagArgument = hasTagArgument;
    this.#own = namesOf(own);
    this.constants = property(names.WAIT, String(isWaiting)) +
      (tags === undefined || hasTagArgument ? "" : property(names.TAGS, tags));
    this.names = [
      ...(isKeyed ? [names.KEYS] : []),
      ...(hasTagArgument ? [names.TAGS] : []),
      ...(isDelayed ? [names.DELAY] : []),
      ...this.#own,
    ];
    this.bytes = UNIQ_KEY_BYTES + textLength(this.constants) +
      this.names.reduce((sum, name) => sum + textLength(name) + 2, 0);
  }

  get hasTagArgument(): boolean {
    return this.#hasTagArgument;
  }

  fits(tags: string | undefined, isWaiting: boolean, isKeyed: boolean, isDelayed: boolean): boolean {
    const mine = this.#properties;
    return (tags === this.#tags || this.#hasTagArgument && tags !== undefined) && isWaiting === mine.isWaiting &&
      isKeyed === mine.isKeyed && isDelayed === mine.isDelayed;
  }

  /** Whether the user's own properties have these names, in this order. */
  fitsOwn(own: Properties["own"]): boolean {
    const mine = this.#own;
    let at = 0;
    for (const name in own) if (name !== mine[at++]) return false;
    return at === mine.length;
  }

  /** The text of all properties: what the program writes. `args` are those of the program. */
  text(uniqKey: string, args: readonly string[]): string {
    let text = property(names.UNIQ_KEY, uniqKey) + this.constants;
    const first = this.isFlagged ? 1 : 0;
    for (const [at, name] of this.names.entries()) text += property(name, args[first + at]!);
    return text;
  }

  /** The same with an index. */
  at(index: number): ProducerKind {
    return new ProducerKind(index, this.#properties, this.#hasTagArgument, this.isFlagged);
  }

  /** The same with a sysFlag that is not 0. */
  flagged(index: number): ProducerKind {
    return new ProducerKind(index, this.#properties, this.#hasTagArgument, true);
  }
}

/** The kinds of message that one producer has sent. Those of consecutive messages are mostly the same. */
export class SendKinds {
  readonly #kinds = new Map<string, ProducerKind>();
  readonly #flagged = new Map<ProducerKind, ProducerKind>();
  #size = 0;
  #tags = 0;
  #last = new ProducerKind(
    -1,
    { tags: undefined, isWaiting: true, isKeyed: false, isDelayed: false, own: undefined },
    false,
    false,
  );

  /** Throws `ArgumentError` for names and tags that cannot be sent. */
  of(
    tags: string | undefined,
    isWaiting: boolean,
    isKeyed: boolean,
    isDelayed: boolean,
    own: Properties["own"],
  ): ProducerKind {
    const last = this.#last;
    if (last.index >= 0 && last.fits(tags, isWaiting, isKeyed, isDelayed) && last.fitsOwn(own)) return last;
    return this.#last = this.#find({ tags, isWaiting, isKeyed, isDelayed, own });
  }

  /** The kind of a message like these whose sysFlag is not 0. */
  flagged(kind: ProducerKind): ProducerKind {
    const known = this.#flagged.get(kind);
    if (known) return known;
    const flagged = kind.flagged(kind.index < 0 ? -1 : this.#nextIndex());
    if (flagged.index >= 0) this.#flagged.set(kind, flagged);
    return flagged;
  }

  #find(properties: Properties): ProducerKind {
    const { tags, isWaiting, isKeyed, isDelayed, own } = properties;
    if (tags !== undefined) checkTags(tags);
    const shape = [isWaiting, isKeyed, isDelayed, ...namesOf(own)];
    const constant = JSON.stringify([tags ?? null, ...shape]);
    const known = this.#kinds.get(constant);
    if (known) return known;
    checkNames(own);
    if (tags === undefined || this.#tags < TAGS_MAX) {
      if (tags !== undefined) this.#tags++;
      return this.#keep(constant, properties, false);
    }
    const general = JSON.stringify([true, ...shape]);
    return this.#kinds.get(general) ?? this.#keep(general, properties, true);
  }

  #keep(key: string, properties: Properties, hasTagArgument: boolean): ProducerKind {
    // Only names count: values would be kept for nothing.
    const own = properties.own === undefined ? undefined : blank(properties.own);
    const kind = new ProducerKind(-1, { ...properties, own }, hasTagArgument, false);
    if (kind.bytes > LITERALS_MAX) return kind;
    const index = this.#nextIndex();
    if (index < 0) return kind;
    const kept = kind.at(index);
    this.#kinds.set(key, kept);
    return kept;
  }

  #nextIndex(): number {
    return this.#size < KINDS_MAX ? this.#size++ : -1;
  }
}

/** Throws `ArgumentError` unless `tags` is one tag that can be sent. */
export function checkTags(tags: string): void {
  if (typeof tags !== "string" || tags.includes("||")) {
    throw new ArgumentError(`tags must be one tag, got ${JSON.stringify(tags)}`);
  }
  checkValue(names.TAGS, tags);
}

/** Throws `ArgumentError` when the value would be cut in two. */
export function checkValue(name: string, value: string): void {
  if (value.indexOf(PROPERTY) >= 0) throw unwritable(name);
}

function checkNames(own: Properties["own"]): void {
  for (const name in own) {
    if (name === "") throw new ArgumentError(`property ${JSON.stringify(name)} must be a text that is not empty`);
    if (names.RESERVED_PROPERTIES.has(name)) throw new ArgumentError(`property ${name} belongs to RocketMQ`);
    if (name.includes(NAME_VALUE) || name.includes(PROPERTY)) throw unwritable(name);
  }
}

const unwritable = (name: string): ArgumentError =>
  new ArgumentError(`property ${JSON.stringify(name)} holds a separator, U+0001 or U+0002`);

const property = (name: string, value: string): string => name + NAME_VALUE + value + PROPERTY;

function namesOf(own: Properties["own"]): readonly string[] {
  const list: string[] = [];
  for (const name in own) list.push(name);
  return list;
}

function blank(own: Readonly<Record<string, string>>): Record<string, string> {
  const names = Object.create(null) as Record<string, string>;
  for (const name in own) names[name] = "";
  return names;
}
