/**
 * What a start of the server may be told by flag and environment (PGM-1).
 *
 * Rule: one table names every option; the command line, its help and the environment are read through it. A flag wins
 * over the environment, and both win over the config file.
 */
import { Limits } from "@errand/protocol"
import * as Result from "effect/Result"

/** One option of `errand serve`. `env` is null where only the flag exists. */
export interface OptionEntry {
  readonly flag: string
  readonly env: string | null
  readonly value: string
  readonly help: string
}

/** The options of `errand serve`, in the order of its help. */
export const entries = {
  model: {
    flag: "model",
    env: "ERRAND_MODEL",
    value: "PROVIDER:NAME",
    help: "The model: script:FILE, script:demo, openai:NAME, anthropic:NAME or openai-compatible:NAME."
  },
  home: {
    flag: "home",
    env: "ERRAND_HOME",
    value: "DIR",
    help: "Where sessions and config.json live; default ~/.errand."
  },
  catalog: {
    flag: "catalog",
    env: "ERRAND_CATALOG",
    value: "full|compact",
    help: "Offer every tool, or MCP and client tools through find_tools and call_tool."
  },
  workspace: {
    flag: "workspace",
    env: "ERRAND_WORKSPACE",
    value: "DIR",
    help: "Where built-in tools work; default the working directory."
  },
  config: {
    flag: "config",
    env: "ERRAND_CONFIG",
    value: "FILE",
    help: "The config file; default HOME/config.json when it exists."
  },
  logLevel: {
    flag: "log-level",
    env: "ERRAND_LOG_LEVEL",
    value: "LEVEL",
    help: "What goes to stderr: all, trace, debug, info, warn, error, fatal, none; default warn."
  },
  instructions: { flag: "instructions", env: null, value: "FILE", help: "A file that holds the system prompt." },
  baseUrl: { flag: "base-url", env: null, value: "URL", help: "The provider's address, for openai-compatible models." },
  requestIds: {
    flag: "request-ids",
    env: null,
    value: "N",
    help:
      `Request ids of a connection, ${Limits.requestIds.least} to ${Limits.requestIds.most}; default ${Limits.defaults.base.request_ids}.`
  },
  runTimeoutMs: {
    flag: "run-timeout-ms",
    env: null,
    value: "MS",
    help: "How long a run may take; default without bound."
  },
  turnLimit: { flag: "turn-limit", env: null, value: "N", help: "Model requests of a run; default 100." }
} satisfies Readonly<Record<string, OptionEntry>>

/** What an option is called in the table. */
export type OptionName = keyof typeof entries

/** What was told, as text; an option that nobody named is absent. */
export type OptionTexts = { readonly [K in OptionName]?: string }

/** Flags over environment; empty variables count as absent. */
export const merge = (flags: OptionTexts, env: Readonly<Record<string, string | undefined>>): OptionTexts => {
  const merged: { [K in OptionName]?: string } = {}
  for (const [name, entry] of Object.entries(entries) as Array<[OptionName, OptionEntry]>) {
    const variable = entry.env === null ? undefined : env[entry.env]
    const text = flags[name] ?? (variable === "" ? undefined : variable)
    if (text !== undefined) merged[name] = text
  }
  return merged
}

/** The texts as arguments of a command line. */
export const args = (texts: OptionTexts): ReadonlyArray<string> =>
  (Object.keys(entries) as ReadonlyArray<OptionName>).flatMap((name) => {
    const text = texts[name]
    return text === undefined ? [] : [`--${entries[name].flag}=${text}`]
  })

/** Options whose text is checked already. */
export interface Options {
  readonly model: string | undefined
  readonly home: string | undefined
  readonly catalog: "full" | "compact" | undefined
  readonly workspace: string | undefined
  readonly config: string | undefined
  readonly logLevel: LogLevel
  readonly instructions: string | undefined
  readonly baseUrl: string | undefined
  readonly requestIds: number | undefined
  readonly runTimeoutMs: number | undefined
  readonly turnLimit: number | undefined
}

/** The names that the command line library has for levels, so that one habit serves everywhere. */
const levels = {
  all: "All",
  trace: "Trace",
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  warning: "Warn",
  error: "Error",
  fatal: "Fatal",
  none: "None"
} as const

/** A level of the log on stderr, as Effect names it. */
export type LogLevel = typeof levels[keyof typeof levels]

/** Checks the texts; the failure is one line that says what to do (PGM-5). */
export const decode = (texts: OptionTexts): Result.Result<Options, string> => {
  const faults: Array<string> = []
  const label = (name: OptionName): string => {
    const { env, flag } = entries[name]
    return env === null ? `--${flag}` : `--${flag} or ${env}`
  }
  for (const [name, text] of Object.entries(texts) as ReadonlyArray<[OptionName, string]>) {
    if (text === "") faults.push(`${label(name)}: give ${entries[name].value}`)
  }
  const integer = (name: OptionName, least: number, most: number): number | undefined => {
    const text = texts[name]
    if (text === undefined) return undefined
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN
    if (value >= least && value <= most) return value
    faults.push(`${label(name)}: give a whole number from ${least} to ${most}`)
    return undefined
  }
  const address = (name: OptionName): string | undefined => {
    const text = texts[name]
    if (text !== undefined && !(URL.canParse(text) && /^https?:$/.test(new URL(text).protocol))) {
      faults.push(`${label(name)}: give an address that begins with http:// or https://`)
    }
    return text
  }
  const choice = <T extends string>(name: OptionName, allowed: ReadonlyArray<T>): T | undefined => {
    const text = texts[name]
    const found = allowed.find((one) => one === text)
    if (text !== undefined && found === undefined) {
      faults.push(`${label(name)}: give one of ${allowed.join(", ")}`)
    }
    return found
  }
  const options: Options = {
    model: texts.model,
    home: texts.home,
    catalog: choice("catalog", ["full", "compact"]),
    workspace: texts.workspace,
    config: texts.config,
    logLevel: levels[choice("logLevel", Object.keys(levels) as ReadonlyArray<keyof typeof levels>) ?? "warn"],
    instructions: texts.instructions,
    baseUrl: address("baseUrl"),
    requestIds: integer("requestIds", Limits.requestIds.least, Limits.requestIds.most),
    runTimeoutMs: integer("runTimeoutMs", 1, 2 ** 31 - 1),
    turnLimit: integer("turnLimit", 1, 1_000_000_000)
  }
  return faults.length === 0 ? Result.succeed(options) : Result.fail(faults[0]!)
}
