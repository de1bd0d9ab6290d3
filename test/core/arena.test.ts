import { describe, expect, test } from "vitest";
import { Core } from "../../client/core.ts";
import { CoreError } from "../../client/errors.ts";
import * as abi from "../../core-as/abi.ts";
import { coreModule, TinyDriver } from "../support/core.ts";
import { freshSeed, Random } from "./random.ts";

const MIB = 1024 * 1024;
const PAGE = abi.BLOCK_MIN;

const allocate = (core: TinyDriver, len: number) => core.run({ opcode: abi.OP_ALLOCATE_BLOCK, len }).result;
const free = (core: TinyDriver, ptr: number) => core.run({ opcode: abi.OP_FREE_BLOCK, ptr }).result;

/** A block's size for so many usable bytes. */
function blockSize(length: number): number {
  let size = PAGE;
  while (size < length + abi.SLACK) size *= 2;
  return size;
}

/** Naive arena: which pages are taken; a block is the lowest aligned run of free ones. */
class PageModel {
  readonly #taken: boolean[];
  readonly #sizes = new Map<number, number>();

  constructor(firstFree: number, memory: number) {
    this.#taken = Array.from({ length: memory / PAGE }, (_, page) => page * PAGE < firstFree);
  }

  get bytes(): number {
    return [...this.#sizes.values()].reduce((sum, size) => sum + size, 0);
  }

  get blocks(): number[] {
    return [...this.#sizes.keys()];
  }

  allocate(length: number): number {
    const size = blockSize(length), pages = size / PAGE;
    for (let page = 0; page + pages <= this.#taken.length; page += pages) {
      if (this.#taken.slice(page, page + pages).includes(true)) continue;
      this.#taken.fill(true, page, page + pages);
      this.#sizes.set(page * PAGE, size);
      return page * PAGE;
    }
    return abi.E_NO_ROOM;
  }

  free(ptr: number): void {
    const size = this.#sizes.get(ptr)!;
    this.#taken.fill(false, ptr / PAGE, (ptr + size) / PAGE);
    this.#sizes.delete(ptr);
  }
}

/** Takes all that is left, a page at a time. */
function takeAll(core: TinyDriver): number[] {
  const pages: number[] = [];
  for (let page = allocate(core, 1); page > 0; page = allocate(core, 1)) pages.push(page);
  return pages;
}

describe("arena", () => {
  test("blocks are where a naive model puts them, whatever is allocated and freed", () => {
    const seed = freshSeed();
    console.log(`arena seed ${seed}`);
    const random = new Random(seed);
    const core = new TinyDriver({ pages: 4 * MIB / 65536 });
    const firstFree = allocate(core, 1);
    free(core, firstFree);
    const model = new PageModel(firstFree, 4 * MIB);
    for (let round = 0; round < 5_000; round++) {
      const blocks = model.blocks;
      if (blocks.length > 0 && random.once(round % 1000 < 500 ? 3 : 2)) {
        const ptr = random.pick(blocks);
        model.free(ptr);
        expect(free(core, ptr)).toBe(0);
      } else {
        const length = random.below(random.pick([100, PAGE, 3 * PAGE, 64 * PAGE, 600 * PAGE]));
        expect(allocate(core, length)).toBe(model.allocate(length));
      }
      expect(core.bytesInUse).toBe(model.bytes);
    }
    for (const ptr of model.blocks) expect(free(core, ptr)).toBe(0);
    expect(core.bytesInUse).toBe(0);
    expect(allocate(core, 2 * MIB - abi.SLACK)).toBe(2 * MIB);
  });

  test("a block has the length it was asked for and the slack behind it, at each size's border", () => {
    const core = new TinyDriver();
    for (let size = PAGE; size <= 4 * MIB; size *= 2) {
      for (const [length, bytes] of [[size - abi.SLACK, size], [size - abi.SLACK + 1, size * 2]] as const) {
        const block = allocate(core, length);
        expect(block % bytes).toBe(0);
        expect(core.bytesInUse).toBe(bytes);
        expect(free(core, block)).toBe(0);
      }
    }
  });

  test.each([16, 17, 31, 32, 33, 63, 64, 100, 255, 1000, 1024])("a memory of %i pages is used to its end", (pages) => {
    const core = new TinyDriver({ pages });
    const all = takeAll(core);
    expect(all).toEqual(all.map((_, index) => all[0]! + index * PAGE));
    expect(all.at(-1)).toBe(pages * 65536 - PAGE);
    expect(core.bytesInUse).toBe(all.length * PAGE);
    expect(all[0]).toBeLessThan(0.45 * MIB);
    for (const page of all.reverse()) expect(free(core, page)).toBe(0);
    expect(core.bytesInUse).toBe(0);
  });

  test("the tables of an arena of 1 GiB fit before it, and its last block ends with it", () => {
    const core = new TinyDriver({ pages: 16384 });
    expect(allocate(core, 512 * MIB - abi.SLACK)).toBe(512 * MIB);
    expect(allocate(core, 512 * MIB - abi.SLACK)).toBe(abi.E_NO_ROOM);
    expect(allocate(core, 256 * MIB - abi.SLACK)).toBe(256 * MIB);
    expect(core.bytesInUse).toBe(768 * MIB);
  });

  test("a length that no arena has finds no room", () => {
    const core = new TinyDriver();
    for (const len of [16 * MIB, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - abi.SLACK, 2 ** 32 - 1]) {
      expect(allocate(core, len)).toBe(abi.E_NO_ROOM);
    }
    expect(core.bytesInUse).toBe(0);
  });

  test("a pointer that is no block of the host's is refused and changes nothing", () => {
    const core = new TinyDriver();
    const block = allocate(core, 3 * PAGE), other = allocate(core, 1);
    const inbox = core.run({ opcode: abi.OP_CONNECTION_OPEN }).ptr;
    const segment = core.run({ opcode: abi.OP_SEGMENT_OPEN }).result;
    free(core, other);
    const before = core.bytesInUse;
    const foreign = [0, 4, 1024, core.control, block + 16, block + PAGE, block - PAGE, other, inbox, segment, 16 * MIB];
    for (const ptr of [...foreign, 2 ** 31, 2 ** 32 - PAGE, 2 ** 32 - 1]) {
      expect(free(core, ptr)).toBe(abi.E_BAD_POINTER);
    }
    expect(core.bytesInUse).toBe(before);
    expect(free(core, block)).toBe(0);
    expect(free(core, block)).toBe(abi.E_BAD_POINTER);
    expect(core.bytesInUse).toBe(before - 4 * PAGE);
  });

  test("what a host writes over a whole block does not reach the allocator", () => {
    const core = new TinyDriver();
    const blocks = [1, 2, 3].map(() => allocate(core, PAGE - abi.SLACK));
    for (const block of blocks) core.bytes.fill(0xff, block, block + PAGE);
    for (const block of blocks) expect(free(core, block)).toBe(0);
    expect(core.bytesInUse).toBe(0);
    expect(allocate(core, PAGE - abi.SLACK)).toBe(blocks[0]);
  });
});

test("a core without memory says how much it wanted and what helps", () => {
  // More than 4 GiB is more than any runtime gives.
  const open = () => new Core(coreModule, 5 * 1024);
  expect(open).toThrow(CoreError);
  expect(open).toThrow(/^Cannot reserve 5120 MiB .*coreMemory.*--disable-wasm-trap-handler/);
});
