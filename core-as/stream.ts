// One connection's inbox: bytes arrive in it, and whole frames are cut where they lie.
//
//   inbox ─►  │ delivered │ start: a half frame … end │ room …            │ slack │
//   frame ─►  │ start: a frame that is larger than the inbox … end │ room │ slack │
//
// A frame that will not fit the inbox gets a block of its own as soon as its length is known. What is there moves over and
// the socket reads exactly the rest of it there; then the inbox goes on, empty.

import * as abi from "./abi";
import { giveBlock, OWNER_FRAME, OWNER_INBOX, takeBlock } from "./arena";
import { readBinaryHeader } from "./binary_header";
import { readJsonHeader } from "./json_header";
import { matchesLengths } from "./shapes";
import { be32, Completion, completionsAreFull, nextCompletion, publishCompletion, SLACK, Submission } from "./shared";

/** One connection. Lives in a static table, where only this file reaches it; a handle names its place and generation. */
@unmanaged
class Connection {
  /** How often this place was closed. */
  generation: u32;
  /** The inbox's block, 0 while the place is free. */
  inbox: u32;
  /** The block of a frame larger than the inbox, 0 when there is none: then `start` and `end` lie in it. */
  frame: u32;
  /** A frame's block that has been delivered; freed at the next room or feed. */
  delivered: u32;
  /** The first byte that has not been cut, the byte behind the last that has arrived, and the end of the room. */
  start: u32;
  end: u32;
  limit: u32;
  /** Why this connection reads no more, below zero; 0 as long as it does. */
  refusal: i32;
}

const CONNECTIONS: u32 = abi.CONNECTIONS;
const PLACE_BITS: u32 = 10;
const GENERATION_MASK: u32 = 0x1fffff;
const TABLE: usize = memory.data(abi.CONNECTIONS * 32, 16);

/** Most bytes of a frame that stays in the inbox. */
const CAPACITY: u32 = abi.INBOX_BYTES - abi.SLACK;
/** With less room than this behind a half frame, it moves to the front. */
const ROOM_SHORT: u32 = abi.INBOX_BYTES / 4;
/** Length word and header word. */
const FRAME_HEAD: u32 = 8;
const LENGTH_MOST: u32 = abi.FRAME_MAX - 4;
const SERIALIZE_TYPE_MOST: u32 = 1;
const BINARY: u32 = 1;

if (offsetof<Connection>() != 32) ERROR("Connection does not fit its table");
if (1 << PLACE_BITS != abi.CONNECTIONS) ERROR("A handle's low bits do not name every connection");

/** OP_CONNECTION_OPEN. */
export function openConnection(entry: Submission): void {
  entry.result = abi.E_NO_ROOM;
  const place = freePlace();
  if (place == CONNECTIONS) return;
  const inbox = takeBlock(CAPACITY, OWNER_INBOX);
  if (!inbox) return;
  const connection = connectionAt(place);
  connection.inbox = inbox;
  connection.frame = 0;
  connection.delivered = 0;
  connection.refusal = 0;
  startAfresh(connection);
  entry.handle = (connection.generation & GENERATION_MASK) << PLACE_BITS | place;
  answerRoom(entry, connection);
}

/** OP_CONNECTION_CLOSE. */
export function closeConnection(entry: Submission): void {
  const connection = connectionOf(entry);
  if (!connection) return;
  giveBlock(connection.inbox, OWNER_INBOX);
  if (connection.frame) giveBlock(connection.frame, OWNER_FRAME);
  freeDelivered(connection);
  connection.inbox = 0;
  connection.generation++;
  entry.result = 0;
}

/** OP_ROOM. */
export function room(entry: Submission): void {
  const connection = connectionOf(entry);
  if (!connection) return;
  entry.result = connection.refusal;
  if (connection.refusal) return;
  freeDelivered(connection);
  if (!connection.frame) makeRoom(connection);
  // Frames that wait for the completion ring fill the inbox: they have to be fed first.
  if (connection.end == connection.limit) entry.result = abi.E_NOT_READY;
  else answerRoom(entry, connection);
}

/** OP_FEED. */
export function feed(entry: Submission): void {
  const connection = connectionOf(entry);
  if (!connection) return;
  entry.result = connection.refusal;
  if (connection.refusal) return;
  entry.result = abi.E_BAD_ARGUMENT;
  if (entry.len > connection.limit - connection.end) return;
  freeDelivered(connection);
  connection.end += entry.len;
  const result = cut(connection);
  entry.result = result;
  if (result < 0) connection.refusal = result;
  else if (result == abi.FEED_SPILL) spill(entry, connection);
}

/** Completes the whole frames that are there. */
function cut(connection: Connection): i32 {
  const end = connection.end;
  let start = connection.start;
  while (true) {
    const here = end - start;
    assert(start <= end && end <= connection.limit);
    if (here < 4) {
      // A block holds one frame, and at least its length word from the start: with nothing left it has been completed.
      if (!here && connection.frame) deliverFrame(connection);
      return abi.FEED_DONE;
    }
    const length = be32(start);
    if (length > LENGTH_MOST) return abi.E_FRAME_TOO_LARGE;
    if (length < 4) return abi.E_BAD_FRAME;
    if (here < FRAME_HEAD) return abi.FEED_DONE;
    const word = be32(start + 4);
    if ((word & 0xffffff) > length - 4 || word >> 24 > SERIALIZE_TYPE_MOST) return abi.E_BAD_FRAME;
    const size: u32 = 4 + length;
    if (here < size) {
      if (size <= CAPACITY || connection.frame) return abi.FEED_DONE;
      return takeFrame(connection, size) ? abi.FEED_DONE : abi.FEED_SPILL;
    }
    if (completionsAreFull()) return abi.FEED_MORE;
    complete(start, size, word);
    start += size;
    connection.start = start;
  }
}

/** Fills a completion for the whole frame at `start`. */
function complete(start: u32, size: u32, word: u32): void {
  const completion = nextCompletion(), headerLength = word & 0xffffff, header = start + FRAME_HEAD;
  completion.headerPtr = header;
  completion.headerWord = word;
  completion.bodyPtr = header + headerLength;
  completion.bodyLen = size - FRAME_HEAD - headerLength;
  if (!matchesLengths(completion, header)) readHeader(completion, header, headerLength);
  publishCompletion();
}

function readHeader(to: Completion, at: u32, length: u32): void {
  if (to.headerWord >> 24 == BINARY) readBinaryHeader(to, at, length);
  else readJsonHeader(to, at, length);
}

/** The frame in the block has been completed; the inbox goes on. */
function deliverFrame(connection: Connection): void {
  connection.delivered = connection.frame;
  connection.frame = 0;
  startAfresh(connection);
}

/** Moves a half frame that is larger than the inbox into a block of its own; false when there is none. */
function takeFrame(connection: Connection, size: u32): bool {
  const block = takeBlock(size, OWNER_FRAME);
  if (!block) return false;
  const here = connection.end - connection.start;
  memory.copy(block, connection.start, here);
  connection.frame = block;
  connection.start = block;
  connection.end = block + here;
  connection.limit = block + size;
  return true;
}

/** Lends what has arrived of a frame that found no block, and goes on behind it. */
function spill(entry: Submission, connection: Connection): void {
  entry.value = <f64> (4 + be32(connection.start));
  entry.ptr = connection.start;
  entry.len = connection.end - connection.start;
  startAfresh(connection);
}

/** Moves a half frame to the front when the room behind it is short. */
function makeRoom(connection: Connection): void {
  const start = connection.start, here = connection.end - start;
  if (!here) return startAfresh(connection);
  const missing = here < 4 ? ROOM_SHORT : max(ROOM_SHORT, 4 + be32(start) - here);
  if (connection.limit - connection.end >= missing || start == connection.inbox) return;
  memory.copy(connection.inbox, start, here);
  connection.start = connection.inbox;
  connection.end = connection.inbox + here;
}

/** The whole inbox is room. */
function startAfresh(connection: Connection): void {
  connection.start = connection.inbox;
  connection.end = connection.inbox;
  connection.limit = connection.inbox + CAPACITY;
}

function freeDelivered(connection: Connection): void {
  if (!connection.delivered) return;
  giveBlock(connection.delivered, OWNER_FRAME);
  connection.delivered = 0;
}

function answerRoom(entry: Submission, connection: Connection): void {
  entry.ptr = connection.end;
  entry.len = connection.limit - connection.end;
  entry.result = 0;
}

/** The connection that a command names; null after answering that there is none. */
function connectionOf(entry: Submission): Connection | null {
  const connection = connectionAt(entry.handle & (CONNECTIONS - 1));
  if (connection.inbox && entry.handle >> PLACE_BITS == (connection.generation & GENERATION_MASK)) return connection;
  entry.result = abi.E_BAD_HANDLE;
  return null;
}

function freePlace(): u32 {
  let place: u32 = 0;
  while (place < CONNECTIONS && connectionAt(place).inbox) place++;
  return place;
}

function connectionAt(place: u32): Connection {
  return changetype<Connection>(TABLE + place * offsetof<Connection>());
}
