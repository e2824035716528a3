/**
 * Which model a setting names (MDL-2).
 *
 * Rule: a provider is loaded only when it is chosen, so that start-up costs what is used.
 */
import { DemoScript, Script, ScriptedModel } from "@errand/models"
import type { ModelTurn } from "@errand/runtime"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { ConfigurationInvalid, readText, type Settings } from "./Settings.ts"

/** The layer of the model that `settings.model` names; a fault says which setting it is. */
export const layerOf = Effect.fnUntraced(function*(
  settings: Pick<Settings, "model">
): Effect.fn.Return<Layer.Layer<ModelTurn>, ConfigurationInvalid> {
  const colon = settings.model.indexOf(":")
  const provider = settings.model.slice(0, Math.max(0, colon))
  const name = settings.model.slice(colon + 1)
  if (provider !== "script" || name === "") {
    return yield* new ConfigurationInvalid({ message: "model: expected script:FILE or script:demo" })
  }
  const text = name === "demo" ? DemoScript.text : yield* readText("model", name)
  const script = Script.decode(text)
  if (Result.isSuccess(script)) return ScriptedModel.layer(script.success)
  return yield* new ConfigurationInvalid({ message: `script ${script.failure.message}` })
})
