/**
 * The settings in force for one start of the server: options over config file over defaults (PGM-1, PGM-6).
 *
 * Rule: settings are complete and valid before anything is started with them, and reading them touches nothing (LIF-5).
 * This is an edge: it reads files.
 */
import { Diagnosis } from "@errand/runtime"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { closeSync, constants, fstatSync, open, readFile } from "node:fs"
import { homedir, userInfo } from "node:os"
import { dirname, join, resolve } from "node:path"
import * as Config from "./Config.ts"
import type { Options } from "./Options.ts"

/** A setting that cannot be used; `message` names the option, or the file and the path in it. */
export class ConfigurationInvalid extends Data.TaggedError("ConfigurationInvalid")<{ readonly message: string }> {}

/** Everything a start needs to know. Times in milliseconds. */
export interface Settings {
  readonly model: string
  readonly baseUrl: string | null
  readonly home: string
  readonly workspace: string
  readonly catalog: "full" | "compact"
  /** The system prompt itself. */
  readonly instructions: string | null
  readonly requestIds: number | null
  readonly runTimeoutMs: number | null
  readonly turnLimit: number | null
  readonly permissions: ReadonlyArray<typeof Config.PermissionRule.Type>
  readonly hooks: ReadonlyArray<Config.HookCommand>
  readonly mcpServers: Readonly<Record<string, Config.McpServer>>
  readonly codeMode: NonNullable<Config.Config["code_mode"]>
}

/** The most characters of a path that a message shows. */
const PATH_CHARACTERS = 300

/**
 * Reads a text file; the failure names what the file was for. A pipe or a device is refused: reading it could take for ever,
 * and keep a thread that the process waits for when it ends (CLS-3).
 */
export const readText = (what: string, path: string): Effect.Effect<string, ConfigurationInvalid> =>
  Effect.callback((resume) => {
    const shown = Diagnosis.quoted(path, PATH_CHARACTERS)
    const refuse = (reason: string) =>
      resume(Effect.fail(new ConfigurationInvalid({ message: `${what}: cannot read ${shown} (${reason})` })))
    open(path, constants.O_RDONLY | constants.O_NONBLOCK, (error, file) => {
      if (error !== null) return refuse(reasonOf(error))
      if (!fstatSync(file).isFile()) {
        closeSync(file)
        return refuse("it is no regular file")
      }
      readFile(file, "utf8", (error, text) => {
        closeSync(file)
        if (error === null) resume(Effect.succeed(text))
        else refuse(reasonOf(error))
      })
    })
  })

const reasonOf = (error: NodeJS.ErrnoException): string => error.code ?? "unknown reason"

const readConfig = Effect.fnUntraced(function*(path: string, mustExist: boolean) {
  const text = yield* readText("config", path).pipe(
    Effect.catch((error) =>
      mustExist || !error.message.includes("(ENOENT)") ? Effect.fail(error) : Effect.succeed("{}")
    )
  )
  const decoded = Config.decode(text)
  if (Result.isSuccess(decoded)) return decoded.success
  return yield* new ConfigurationInvalid({ message: `config: ${decoded.failure}` })
})

/** Where sessions live, by default in the home directory of the user; a `HOME` that is empty says nothing of it. */
export const homeOf = (options: Options): string =>
  resolve(options.home ?? join(homedir() || userInfo().homedir, ".errand"))

/** Reads the config file and settles what holds. */
export const load = Effect.fnUntraced(function*(options: Options) {
  const home = homeOf(options)
  const path = options.config === undefined ? join(home, "config.json") : resolve(options.config)
  const config = yield* readConfig(path, options.config !== undefined)
  const instructions = options.instructions ??
    (config.instructions === undefined ? undefined : resolve(dirname(path), config.instructions))
  const settings: Settings = {
    model: options.model ?? config.model ?? "script:demo",
    baseUrl: options.baseUrl ?? config.base_url ?? null,
    home,
    workspace: resolve(options.workspace ?? "."),
    catalog: options.catalog ?? config.catalog ?? "full",
    instructions: instructions === undefined ? null : yield* readText("instructions", instructions),
    requestIds: options.requestIds ?? config.request_ids ?? null,
    runTimeoutMs: options.runTimeoutMs ?? config.run_timeout_ms ?? null,
    turnLimit: options.turnLimit ?? config.turn_limit ?? null,
    permissions: config.permissions ?? [],
    hooks: config.hooks ?? [],
    mcpServers: config.mcpServers ?? {},
    codeMode: config.code_mode ?? {}
  }
  return settings
})
