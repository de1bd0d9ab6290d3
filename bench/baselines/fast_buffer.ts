import type { Buffer } from "node:buffer";

/** Methods that every runtime's Buffer has and few type definitions name: the quickest ways between bytes and strings. */
export interface FastBuffer extends Buffer {
  utf8Write(text: string, at?: number, length?: number): number;
  utf8Slice(start?: number, end?: number): string;
  latin1Slice(start?: number, end?: number): string;
}
