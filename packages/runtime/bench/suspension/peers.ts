/** The peers, each in its own idiom, with a model that answers at once. */
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages"
import { Command, interrupt, MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph"
import { Agent, type Model, run, RunState, setTracingDisabled, tool as agentTool, Usage } from "@openai/agents"
import { generateText, jsonSchema, type LanguageModel, type ModelMessage, tool, type ToolSet } from "ai"
import { z } from "zod"
import type { Cycled } from "../suspension.ts"
import { callId, final, history, prompt, system, toolArguments, toolName } from "./job.ts"

const counts = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 }
}

const sdkModel = {
  specificationVersion: "v4",
  provider: "bench",
  modelId: "bench",
  supportedUrls: {},
  doGenerate: async ({ prompt }: { readonly prompt: ReadonlyArray<{ readonly role: string }> }) =>
    prompt.at(-1)!.role === "tool"
      ? {
        content: [{ type: "text", text: final }],
        finishReason: { unified: "stop", raw: undefined },
        usage: counts,
        warnings: []
      }
      : {
        content: [{ type: "tool-call", toolCallId: callId, toolName, input: toolArguments }],
        finishReason: { unified: "tool-calls", raw: undefined },
        usage: counts,
        warnings: []
      }
} as unknown as LanguageModel

const sdkTools: ToolSet = {
  [toolName]: tool({
    description: "Open a document in the client application.",
    inputSchema: jsonSchema({
      type: "object",
      properties: { document_id: { type: "string" } },
      required: ["document_id"],
      additionalProperties: false
    })
  })
}

/** A tool without `execute`: the host keeps the messages and supplies the result. */
export const aiSdk = async (count: number) => {
  const messages = history(count).map(({ role, text }): ModelMessage => ({ role, content: [{ type: "text", text }] }))
  const generate = (messages: Array<ModelMessage>) =>
    generateText({ model: sdkModel, tools: sdkTools, instructions: system, messages })
  return async (): Promise<Cycled> => {
    const input: Array<ModelMessage> = [...messages, { role: "user", content: [{ type: "text", text: prompt }] }]
    const first = await generate(input)
    const [call] = first.toolCalls
    const text = JSON.stringify({
      messages: [...input, ...first.response.messages],
      pending: [{ id: call!.toolCallId, name: call!.toolName }]
    })
    const state = JSON.parse(text)
    const second = await generate([...state.messages, {
      role: "tool",
      content: [{
        type: "tool-result",
        toolCallId: state.pending[0].id,
        toolName: state.pending[0].name,
        output: { type: "json", value: { opened: true } }
      }]
    }])
    return { bytes: text.length, output: second.text }
  }
}

const agentModel = {
  async getResponse(request: { readonly input: string | ReadonlyArray<{ readonly type?: string }> }) {
    const last = typeof request.input === "string" ? undefined : request.input.at(-1)
    return last?.type === "function_call_result"
      ? {
        usage: new Usage(),
        output: [{
          type: "message",
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: final }]
        }]
      }
      : {
        usage: new Usage(),
        output: [{ type: "function_call", callId, name: toolName, status: "completed", arguments: toolArguments }]
      }
  }
} as unknown as Model

/** A tool that needs approval: the interruption is kept in a `RunState`, which becomes a string. */
export const openAiAgents = async (count: number) => {
  setTracingDisabled(true)
  const agent = new Agent({
    name: "bench",
    instructions: system,
    model: agentModel,
    tools: [agentTool({
      name: toolName,
      description: "Open a document in the client application.",
      parameters: z.object({ document_id: z.string() }),
      needsApproval: true,
      execute: async () => ({ opened: true })
    })]
  })
  const messages = history(count).map(({ role, text }) =>
    role === "user"
      ? { role, content: text }
      : { role, status: "completed" as const, content: [{ type: "output_text" as const, text }] }
  )
  return async (): Promise<Cycled> => {
    const first = await run(agent, [...messages, { role: "user" as const, content: prompt }])
    const text = first.state.toString()
    const state = await RunState.fromString(agent, text)
    for (const interruption of state.getInterruptions()) state.approve(interruption)
    const second = await run(agent, state)
    return { bytes: text.length, output: String(second.finalOutput) }
  }
}

const askGraph = async ({ messages }: typeof MessagesAnnotation.State) => ({
  messages: [
    messages.at(-1)!.getType() === "tool"
      ? new AIMessage(final)
      : new AIMessage({ content: "", tool_calls: [{ id: callId, name: toolName, args: JSON.parse(toolArguments) }] })
  ]
})

const interrupted = async ({ messages }: typeof MessagesAnnotation.State) => {
  const call = (messages.at(-1) as AIMessage).tool_calls![0]!
  const answer: unknown = interrupt({ id: call.id, name: call.name, args: call.args })
  return { messages: [new ToolMessage({ content: JSON.stringify(answer), tool_call_id: call.id! })] }
}

const graphOf = (checkpointer: MemorySaver) =>
  new StateGraph(MessagesAnnotation)
    .addNode("model", askGraph)
    .addNode("tool", interrupted)
    .addEdge("__start__", "model")
    .addConditionalEdges("model", ({ messages }) =>
      (messages.at(-1) as AIMessage).tool_calls?.length ? "tool" : "__end__")
    .addEdge("tool", "model")
    .compile({ checkpointer })

/** `interrupt` in a node, `Command` to resume; the checkpointer keeps serialised checkpoints in memory. */
export const langGraph = async (count: number) => {
  const messages = history(count).map(({ role, text }) =>
    role === "user" ? new HumanMessage(text) : new AIMessage(text)
  )
  const saver = new MemorySaver()
  const [suspending, resuming] = [graphOf(saver), graphOf(saver)]
  let threads = 0
  return async (): Promise<Cycled> => {
    const thread_id = `t${threads++}`
    const config = { configurable: { thread_id } }
    await suspending.invoke({ messages: [...messages, new HumanMessage(prompt)] }, config)
    const stored = Object.entries(saver.storage[thread_id]![""]!).toSorted(([a], [b]) => a < b ? 1 : -1)[0]![1]
    const second = await resuming.invoke(new Command({ resume: { opened: true } }), config)
    await saver.deleteThread(thread_id)
    return { bytes: stored[0].length, output: String(second.messages.at(-1)!.content) }
  }
}
