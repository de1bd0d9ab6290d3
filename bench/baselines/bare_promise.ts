/** `bare promise`: one promise for each call, its `resolve` in an array, settled with a number. */
export class BarePromises {
  readonly #resolve: (((value: number) => void) | undefined)[] = new Array(65_536);
  #next = 0;

  /** Where the next call will be. */
  get next(): number {
    return this.#next;
  }

  call(): Promise<number> {
    return new Promise((resolve) => {
      this.#resolve[this.#next] = resolve;
      this.#next = (this.#next + 1) & 0xffff;
    });
  }

  settle(call: number): void {
    const resolve = this.#resolve[call]!;
    this.#resolve[call] = undefined;
    resolve(call + 1);
  }
}
