/**
 * Throws the first failed assertion among errors that a client has reported, or among their causes. A client catches what
 * its callers' functions throw, so an `expect` in a handler fails nothing by itself.
 */
export function rethrowAssertions(reported: readonly unknown[]): void {
  for (const error of reported) {
    for (let at: unknown = error; at instanceof Error; at = at.cause) {
      if (at.name === "AssertionError") throw at;
    }
  }
}
