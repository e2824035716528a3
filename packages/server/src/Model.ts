/**
 * Which model a setting names (MDL-2).
 *
 * Rule: a provider is loaded only when it is chosen, so that start-up costs what is used; whatever the model, its
 * transient failures are retried by the same rule (MDL-3).
 */
import { DemoScript, Retry, Script, ScriptedModel } from "@errand/models"
import type { ModelTurn } from "@errand/runtime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { ConfigurationInvalid, readText, type Settings } from "./Settings.ts"

/** The layer of the model that `settings.model` names; a fault says which setting it is. */
export const layerOf = (
  settings: Pick<Settings, "model"> & Partial<Pick<Settings, "baseUrl">>
): Effect.Effect<Layer.Layer<ModelTurn>, ConfigurationInvalid> =>
  Effect.map(named(settings), (model) => Layer.provide(Retry.layer, model))

const named = Effect.fnUntraced(function*(
  { baseUrl = null, model }: Parameters<typeof layerOf>[0]
): Effect.fn.Return<Layer.Layer<ModelTurn>, ConfigurationInvalid> {
  const colon = model.indexOf(":")
  const provider = model.slice(0, Math.max(0, colon))
  const name = model.slice(colon + 1)
  if (name !== "") {
    switch (provider) {
      case "script":
        return yield* scripted(name)
      case "openai":
      case "anthropic":
      case "openai-compatible": {
        const providers = yield* Effect.promise(() => import("./Providers.ts"))
        return yield* providers.layerOf(provider, name, baseUrl)
      }
    }
  }
  const message = "model: expected script:FILE, script:demo, openai:NAME, anthropic:NAME or openai-compatible:NAME"
  return yield* new ConfigurationInvalid({ message })
})

const scripted = Effect.fnUntraced(function*(name: string) {
  const text = name === "demo" ? DemoScript.text : yield* readText("model", name)
  const script = Script.decode(text)
  if (Result.isSuccess(script)) return ScriptedModel.layer(script.success, name)
  return yield* new ConfigurationInvalid({ message: `script ${script.failure.message}` })
})
