import process from "node:process";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Resolves at the first SIGINT or SIGTERM, or when the program that started this one with a channel is gone. A second
 * signal ends the process as if nobody listened.
 */
export function untilAsked(): Promise<void> {
  return new Promise((resolve) => {
    const asked = (): void => {
      for (const signal of SIGNALS) process.off(signal, asked);
      process.off("disconnect", asked);
      // The channel would keep the event loop alive.
      if (process.connected) process.disconnect();
      resolve();
    };
    for (const signal of SIGNALS) process.on(signal, asked);
    process.on("disconnect", asked);
  });
}
