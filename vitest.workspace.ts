import { defineConfig } from "vitest/config"

const packages = ["protocol", "runtime", "models", "server", "client", "testing"]

export default defineConfig({
  ssr: { resolve: { conditions: ["@errand/source", "node", "development|production"] } },
  test: {
    globalSetup: ["./packages/testing/test/leftovers.ts"],
    projects: packages.map((name) => ({
      extends: true as const,
      test: { name, root: `packages/${name}`, include: ["test/**/*.test.ts"], testTimeout: 20_000 }
    }))
  }
})
