/**
 * The worker thread that runs one piece of code in QuickJS (BLT-3). This is an edge, and the entry of a thread.
 *
 * Rule: the code reaches nothing but the three functions given to it here; the thread ends with the code.
 */
import variant from "@jitl/quickjs-singlefile-mjs-release-sync"
import { parentPort, workerData } from "node:worker_threads"
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle
} from "quickjs-emscripten-core"
import { CODE_FILE, PRELUDE_FILE, source } from "./Prelude.ts"
import type { Ask, Ended, FromWorker, Job, Outcome, Reply } from "./SandboxMessage.ts"

/** The one part of the platform's declarations that is used here and that none of those in force holds. */
declare const WebAssembly: {
  readonly Memory: new(pages: { readonly initial: number; readonly maximum: number }) => object
}

const job = workerData as Job
const post = (message: FromWorker) => parentPort!.postMessage(message)

/** Stack of the interpreter; more would overflow that of the thread first. */
const STACK_BYTES = 512 * 1024

/** Pages of WebAssembly memory: their size, and how many the interpreter is built to start with, 16 MiB. */
const PAGE_BYTES = 65_536
const INITIAL_PAGES = 256

let computed = 0
let since = 0
let expired = false
let made = 0
let open = 0
let ended = false
let log = ""
let logLeft = 0

const late = `The code computed for more than ${job.timeMs} ms, which is its limit; waiting for tools does not count.`

const end = (outcome: Outcome): void => {
  if (ended) return
  ended = true
  // code can catch that it was interrupted, but not end well after it
  post({ _tag: "Ended", outcome: expired ? { _tag: "Failed", message: late } : outcome, log, logLeft } satisfies Ended)
}
const failed = (message: string): void => end({ _tag: "Failed", message })

const refuse = (code: string, message: string): string => JSON.stringify({ code, message })

/** What must be true of an ask; the refusal otherwise. */
const refusal = (name: string, args: string): string | undefined => {
  if (made >= job.asks) return refuse("too_many_calls", `The code made ${job.asks} calls, which is its limit.`)
  if (open >= job.asksAtATime) {
    return refuse(
      "too_many_calls",
      `${job.asksAtATime} calls are in flight, which is the limit; await some of them first.`
    )
  }
  const most = job.argumentsCharacters
  if (args.length > most) return refuse("payload_limit", `The arguments have more than ${most} characters.`)
  if (name.length > most) return refuse("payload_limit", `The text has more than ${most} characters.`)
  return undefined
}

const problemOf = (vm: QuickJSContext, error: QuickJSHandle): string => {
  const dumped: unknown = vm.dump(error)
  const { message, name, stack } = (dumped ?? {}) as { name?: string; message?: string; stack?: string | null }
  // null is thrown when there is no room left even for an error
  if (dumped === null) return "InternalError: out of memory"
  const places = (stack ?? "").split("\n").filter((line) => line.includes(`${CODE_FILE}:`))
  return [name === undefined ? String(dumped) : `${name}: ${message}`, ...places.slice(0, 10)].join("\n")
}

const start = (vm: QuickJSContext): void => {
  const text = (handle: QuickJSHandle | undefined) => handle === undefined ? "" : vm.getString(handle)
  const unquoted = (handle: QuickJSHandle | undefined) => JSON.parse(text(handle)) as string
  const host = vm.newObject()
  const give = (name: string, body: (...args: Array<QuickJSHandle>) => QuickJSHandle | undefined) =>
    vm.newFunction(name, (...args) => body(...args) ?? vm.undefined).consume((handle) => vm.setProp(host, name, handle))
  give("ask", (id, what, quotedName, json) => {
    const name = unquoted(quotedName)
    const args = text(json)
    const refused = refusal(name, args)
    if (refused !== undefined) return vm.newString(refused)
    made++
    open++
    post({ _tag: "Ask", id: vm.getNumber(id!), what: text(what) as Ask["what"], name, args })
    return undefined
  })
  give("log", (line) => {
    const whole = `${unquoted(line)}\n`
    const room = logLeft > 0 ? 0 : job.logCharacters - log.length
    // a pair is kept whole or not at all
    const kept = whole.slice(0, room).replace(/[\ud800-\udbff]$/, "")
    log += kept
    logLeft += Buffer.byteLength(whole.slice(kept.length))
    return undefined
  })
  give("end", (tag, value) => {
    const _tag = text(tag) as Outcome["_tag"]
    if (_tag === "Nothing") end({ _tag })
    else if (_tag === "Json") end({ _tag, json: text(value) })
    else if (_tag === "Text") end({ _tag, text: unquoted(value) })
    else end({ _tag, message: unquoted(value) })
    return undefined
  })

  /** Runs a piece of work and all that follows from it, and tells the server when nothing is left to do. */
  const enter = (work: () => void): void => {
    since = performance.now()
    try {
      work()
      const jobs = vm.runtime.executePendingJobs()
      if (jobs.error !== undefined) failed(problemOf(vm, jobs.error))
    } catch (error) {
      failed(error instanceof RangeError ? "RangeError: the call stack is too deep" : String(error))
    }
    computed += performance.now() - since
    if (expired) failed(late)
    if (open === 0) failed("The code waits for something that can never come: no call is in flight.")
    post({ _tag: "Idle" })
  }
  const must = (result: ReturnType<QuickJSContext["evalCode"]>, then: (handle: QuickJSHandle) => void): void => {
    if (result.error !== undefined) failed(problemOf(vm, result.error))
    else then(result.value)
  }

  enter(() => {
    must(
      vm.evalCode(source, PRELUDE_FILE),
      (prelude) =>
        must(vm.callFunction(prelude, vm.undefined, host, vm.newString(job.mark)), (inside) => {
          parentPort!.on("message", ({ id, ok, text }: Reply) => {
            if (ended) return
            open--
            enter(() => {
              const args = [vm.newNumber(id), ok ? vm.true : vm.false, vm.newString(text)]
              must(vm.callMethod(inside, "settle", args), () => {})
            })
          })
          // on one line with the head, so that lines count from 1
          must(
            vm.evalCode(`(async (tools, console) => {${job.code}\n})`, CODE_FILE),
            (main) => must(vm.callMethod(inside, "run", [main]), () => {})
          )
        })
    )
  })
}

// the interpreter's own limit counts nothing in this build, so that its whole memory is bounded
const wasmMemory = new WebAssembly.Memory({
  initial: INITIAL_PAGES,
  maximum: Math.max(INITIAL_PAGES, Math.floor(job.memoryBytes / PAGE_BYTES))
})
const quickjs = await newQuickJSWASMModuleFromVariant(newVariant(variant, { wasmMemory }))
const runtime = quickjs.newRuntime({
  maxStackSizeBytes: STACK_BYTES,
  interruptHandler: () => expired ||= computed + performance.now() - since > job.timeMs
})
post({ _tag: "Ready" })
start(runtime.newContext())
