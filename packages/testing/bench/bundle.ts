/** Bundles every contestant as the binary is bundled, so that start-up and module graph do not tell them apart. */
import { readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { build } from "rolldown"

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** Where the bundles are: `driver-NAME.mjs` and `server-NAME.mjs`. */
export const directory = here("../dist/bench/")

const entriesOf = (kind: "driver" | "server"): Array<[string, string]> =>
  readdirSync(here(`${kind}s/`)).map((file) => [`${kind}-${file.slice(0, -3)}`, here(`${kind}s/${file}`)])

/** Bundles all drivers and servers, each for itself, in chunks: in one file every module would be a function of its own. */
export const bundle = async (): Promise<void> => {
  for (const [name, input] of [...entriesOf("driver"), ...entriesOf("server")]) {
    await build({
      input: { [name]: input },
      platform: "node",
      resolve: { conditionNames: ["@errand/source", "node", "import", "default"] },
      external: [/^node:/],
      output: {
        dir: directory,
        format: "esm",
        entryFileNames: "[name].mjs",
        chunkFileNames: "chunks/[name]-[hash].mjs",
        minify: true
      },
      logLevel: "warn"
    })
  }
}
