import { defineConfig } from "vitest/config";

/** One suite for every runtime; `scripts/test.mjs` chooses the runtime and adds its pool. */
export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/real/**", "test/package/**", "node_modules/**"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
