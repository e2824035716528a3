/**
 * What code sees inside the sandbox: `tools` and `console`, made from a few functions of the host (BLT-3).
 *
 * Rule: nothing here guards anything. Code may break its own world; what leaves the sandbox is checked outside.
 */

/** The file name that errors show for the code, and for what is below. */
export const CODE_FILE = "code.js"
export const PRELUDE_FILE = "tools.js"

/** Script whose value is a function of the host's functions and the mark of large integers. */
export const source = `(host, mark) => {
  const { parse, stringify } = JSON
  const marked = new RegExp('"' + mark + '(-?[0-9]+)"', "g")
  const revive = (_, value) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value
  const read = (text) => text.includes(mark) ? parse(text, revive) : parse(text)

  const digits = (value) => typeof value === "bigint" ? mark + value : value
  // the host reads a text up to its first NUL, so each goes to it quoted
  const quoted = (text) => stringify(String(text))
  const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value)
  const replacing = (replacer) => {
    if (typeof replacer === "function") {
      return function(key, value) {
        return digits(replacer.call(this, key, value))
      }
    }
    if (!Array.isArray(replacer)) return (_, value) => digits(value)
    const keys = replacer.filter((key) => typeof key === "string" || typeof key === "number")
    return (_, value) => isObject(value) ? Object.fromEntries(keys.map((key) => [key, value[key]])) : digits(value)
  }
  const write = (value, replacer, space) => stringify(value, replacing(replacer), space)?.replace(marked, "$1")

  const tokens = /"[^"\\\\]*(?:\\\\.[^"\\\\]*)*"|-?[0-9]+(?:[.][0-9]+)?(?:[eE][-+]?[0-9]+)?/g
  const isLarge = (token) => /^-?[0-9]{16,}$/.test(token) && !Number.isSafeInteger(Number(token))
  Object.assign(JSON, {
    stringify: (value, replacer, space) => write(value, replacer, space),
    parse: (text, reviver) => {
      const json = String(text)
      if (!/[0-9]{16}/.test(json)) return parse(json, reviver)
      // what is no JSON is told before a number becomes a string, which may stand where it may not
      parse(json)
      const exact = json.replace(tokens, (token) => isLarge(token) ? '"' + mark + token + '"' : token)
      if (typeof reviver !== "function") return parse(exact, revive)
      return parse(exact, function(key, value) {
        return reviver.call(this, key, revive(key, value))
      })
    }
  })

  class ToolError extends Error {
    get name() {
      return "ToolError"
    }
  }
  const failure = (fields, stack) => Object.assign(new ToolError(fields.message), fields, { stack })
  const show = (value) => {
    if (typeof value === "string") return value
    if (value instanceof Error) return value.name + ": " + value.message + ("code" in value ? " (" + value.code + ")" : "")
    try {
      return write(value) ?? String(value)
    } catch {
      return String(value)
    }
  }
  const places = (error) =>
    String(error?.stack ?? "").split("\\n").filter((line) => line.includes("${CODE_FILE}:")).slice(0, 10)

  const waiting = new Map()
  let last = 0
  const ask = (what, name, args) =>
    new Promise((resolve, reject) => {
      const { stack } = new Error()
      const id = ++last
      const refusal = host.ask(id, what, quoted(name), args)
      if (refusal !== undefined) return reject(failure(read(refusal), stack))
      waiting.set(id, { resolve, reject, stack })
    })
  const tools = Object.freeze({
    search: (text = "") => ask("search", String(text), ""),
    describe: (name) => ask("describe", String(name), ""),
    call: async (name, args) => ask("call", String(name), args === undefined ? "{}" : write(args) ?? "null")
  })
  const log = (...values) => host.log(quoted(values.map(show).join(" ")))
  const console = Object.freeze({ log, info: log, warn: log, error: log, debug: log })

  const finish = (value) => {
    if (value === undefined) return host.end("Nothing", "")
    const json = typeof value === "string" ? undefined : write(value)
    return json === undefined ? host.end("Text", quoted(show(value))) : host.end("Json", json)
  }
  return {
    settle: (id, ok, text) => {
      const { reject, resolve, stack } = waiting.get(id)
      waiting.delete(id)
      if (ok) resolve(read(text))
      else reject(failure(read(text), stack))
    },
    run: (main) => {
      (async () => finish(await main(tools, console)))().catch((error) =>
        host.end("Failed", quoted([show(error), ...places(error)].join("\\n")))
      )
    }
  }
}`
