/** An agent whose tool `lookup_record` is answered outside of it, and whose tool `close_record` needs somebody's yes. */
import { Script, ScriptedModel } from "@errand/models"
import { Deferral } from "@errand/runtime"
import { AgentDefinition, ClientTool, ClientToolset, Digest, Harness, HostTool } from "@errand/runtime/suspend"
import { Effect, Result, Schema } from "effect"

const Record = Schema.Struct({ record_id: Schema.String })

const lookup = ClientTool.make({
  name: "lookup_record",
  description: "Looks up a record by its id.",
  parameters: Record,
  success: Schema.Struct({ title: Schema.String, open: Schema.Boolean })
})

const close = HostTool.make({
  name: "close_record",
  description: "Closes a record.",
  parameters: Record,
  permission: "ask",
  execute: ({ record_id }) => Effect.succeed(`record ${record_id} is closed`)
})

const crm = ClientToolset.make("crm", [Result.getOrThrow(lookup)])

export const agent = AgentDefinition.make({
  instructions: "Close records that are open.",
  clientTools: Result.getOrThrow(ClientToolset.spec({ defaultToolsets: [Result.getOrThrow(crm)] })),
  tools: [Result.getOrThrow(close)]
})

const secret = Buffer.from(process.env["SECRET"] ?? "not a secret, but long enough for an example")

/** The harness of one process; the model follows the given steps of a script. */
export const harness = (...steps: ReadonlyArray<object>) => {
  const script = Script.decode(JSON.stringify({ format: "errand.script", version: 1, root: steps }))
  return Harness.make(agent, { keys: Result.getOrThrow(Digest.makeKeys([{ id: "2026", secret }])) }).pipe(
    Effect.provide([ScriptedModel.layer(Result.getOrThrow(script)), Deferral.layer])
  )
}
