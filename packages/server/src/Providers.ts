/**
 * The providers of the binary (MDL-2): keys, addresses and the library of each.
 *
 * Rule: a key is read once, held as `Redacted` and given to nobody but the library that sends it. A library is loaded
 * only when its provider is chosen, and this module with it. This is an edge: it imports at run time.
 */
import { AiSdkModel, ByteWatch, ProviderRules } from "@errand/models"
import { ModelTurn, type OfferedTool } from "@errand/runtime"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { ConfigurationInvalid } from "./Settings.ts"

/** What a library needs to know to reach a model. */
interface Access {
  readonly name: string
  readonly key: string | undefined
  readonly url: string | undefined
  readonly fetch: typeof globalThis.fetch
}

type Library = Parameters<typeof AiSdkModel.layer>[0]

type Options = NonNullable<AiSdkModel.Options["providerOptions"]>

interface Provider {
  readonly variable: string
  readonly needsKey: boolean
  readonly needsUrl: boolean
  readonly options: Options
  /** Only for the provider itself: gateways may not know it. */
  readonly ownOptions?: Options
  readonly load: (access: Access) => Promise<Library>
}

/** A setting that is absent rather than undefined where there is none. */
const given = <K extends string>(key: K, value: string | undefined): { readonly [P in K]?: string } =>
  value === undefined ? {} : { [key]: value } as { readonly [P in K]: string }

const providers: { readonly [F in ProviderRules.Family]: Provider } = {
  openai: {
    variable: "OPENAI_API_KEY",
    needsKey: true,
    needsUrl: false,
    // nothing is kept at the provider, so that a conversation depends on this side's history alone
    options: { openai: { store: false } },
    load: ({ fetch, key, name, url }) =>
      import("@ai-sdk/openai").then(({ createOpenAI }) =>
        createOpenAI({ ...given("apiKey", key), ...given("baseURL", url), fetch })(name)
      )
  },
  anthropic: {
    variable: "ANTHROPIC_API_KEY",
    needsKey: true,
    needsUrl: false,
    options: {},
    // each request repeats the conversation: without a cache each turn pays for all those before it
    ownOptions: { anthropic: { cacheControl: { type: "ephemeral" } } },
    load: ({ fetch, key, name, url }) =>
      import("@ai-sdk/anthropic").then(({ createAnthropic }) =>
        createAnthropic({ ...given("apiKey", key), ...given("baseURL", url), fetch })(name)
      )
  },
  "openai-compatible": {
    variable: "ERRAND_API_KEY",
    needsKey: false,
    needsUrl: true,
    options: {},
    load: ({ fetch, key, name, url }) =>
      import("@ai-sdk/openai-compatible").then(({ createOpenAICompatible }) =>
        createOpenAICompatible({
          name: "openai-compatible",
          baseURL: url ?? "",
          ...given("apiKey", key),
          includeUsage: true,
          fetch
        })(name)
      )
  }
}

/** The model `name` of a provider; a fault names the variable or the option that it is about. */
export const layerOf = Effect.fnUntraced(function*(
  family: ProviderRules.Family,
  name: string,
  baseUrl: string | null
): Effect.fn.Return<Layer.Layer<ModelTurn>, ConfigurationInvalid> {
  const provider = providers[family]
  const key = yield* keyOf(family, provider)
  const url = yield* addressOf(family, provider, baseUrl)
  const bytes = ByteWatch.make()
  const access = { name, key: key === undefined ? undefined : Redacted.value(key), url, fetch: bytes.fetch }
  const model = yield* Effect.promise(() => provider.load(access))
  const layer = AiSdkModel.layer(model, {
    provider: family,
    providerOptions: { ...provider.options, ...url === undefined ? provider.ownOptions : {} },
    secrets: key === undefined ? [] : [key],
    bytes
  })
  return Layer.provide(warning(family), layer)
})

const invalid = (message: string) => Effect.fail(new ConfigurationInvalid({ message }))

const keyOf = Effect.fnUntraced(function*(family: string, { needsKey, variable }: Provider) {
  // read as it stands: the codecs of Config would be shared with, and so loaded by, every start
  const read = yield* Effect.orDie((yield* ConfigProvider.ConfigProvider).load([variable]))
  const text = (read?.value ?? "").trim()
  if (text !== "" && !/^[\x21-\x7e]+$/.test(text)) return yield* invalid(`${variable}: holds what no key has`)
  if (text !== "") return Redacted.make(text, { label: variable })
  return needsKey ? yield* invalid(`model: ${family} needs a key; set ${variable}`) : undefined
})

const addressOf = Effect.fnUntraced(function*(family: string, { needsUrl }: Provider, baseUrl: string | null) {
  if (baseUrl === null) {
    return needsUrl ? yield* invalid(`model: ${family} needs an address; give --base-url`) : undefined
  }
  const url = URL.parse(baseUrl)
  if (url === null || url.protocol !== "http:" && url.protocol !== "https:" || url.search !== "" || url.hash !== "") {
    return yield* invalid("base-url: give an address such as http://localhost:8080/v1")
  }
  if (url.username !== "" || url.password !== "") return yield* invalid("base-url: holds a key; set a variable instead")
  return url.href.replace(/\/$/, "")
})

/** Tells on stderr, before the first request that offers it, which tool the provider is known to refuse (MDL-4). */
const warning = (family: ProviderRules.Family): Layer.Layer<ModelTurn, never, ModelTurn> =>
  Layer.effect(
    ModelTurn,
    Effect.map(ModelTurn, (model) => {
      const known = new Set<string>()
      const fresh = (tool: OfferedTool): boolean => known.size < known.add(tool.name).size
      return {
        ...model,
        turn: (request) => {
          const tools = request.tools.filter(fresh)
          if (tools.length === 0) return model.turn(request)
          return Stream.unwrap(Effect.as(warn(family, tools), model.turn(request)))
        }
      }
    })
  )

const warn = (family: ProviderRules.Family, tools: ReadonlyArray<OfferedTool>): Effect.Effect<void> =>
  Effect.forEach(
    ProviderRules.check(family, tools),
    ({ certain, problem, tool }) =>
      Effect.logWarning(`${family} ${certain ? "refuses" : "may refuse"} the tool ${tool}: ${problem}`),
    { discard: true }
  )
