/**
 * This same program, to be spawned as a server. This is an edge: it reads how this process was started.
 *
 * Rule: the server is the file that runs right now, so that client and server are always of one version.
 */
import type { SpawnOptions } from "@errand/client"
import * as Options from "../Options.ts"

/** What to spawn for a server that is told these options; everything else it finds in the environment. */
export const spawnOptions = (told: Options.OptionTexts): SpawnOptions => ({
  command: process.execPath,
  args: [...process.execArgv, process.argv[1]!, "serve", "--stdio", ...Options.args(told)]
})

/** The same for a server that the environment tells nothing. */
export const spawnAlone = (told: Options.OptionTexts): SpawnOptions => ({
  ...spawnOptions(told),
  env: Object.fromEntries(Object.values(Options.entries).flatMap(({ env }) => env === null ? [] : [[env, undefined]]))
})
