// A small MCP server over stdio with the manners that tests need. It answers with literal JSON text, so that nothing is
// rounded on its side.
import { spawn } from "node:child_process"
import { writeSync } from "node:fs"
import { createInterface } from "node:readline"

const mode = process.env.FIXTURE_MODE ?? ""
if (mode === "fails") {
  process.stderr.write("no such database\n")
  process.exit(3)
}
// what ignores a polite end must be ended all the same
process.on("SIGTERM", () => {})

const say = (json) => process.stdout.write(`${json}\n`)
const answer = (id, json) => say(`{"jsonrpc":"2.0","id":${id},"result":${json}}`)
const text = (value) => `{"content":[{"type":"text","text":${JSON.stringify(value)}}]}`

const pages = [
  [
    `{"name":"echo","description":"Gives back what it gets.","inputSchema":{"type":"object","required":[],"$schema":"http://x","a":1.50}}`,
    `{"name":"weird.name/ü","inputSchema":{"type":"object"}}`
  ],
  [
    "die",
    "lastWords",
    "flood",
    "lists",
    "latin",
    "hang",
    "cancelled",
    "beat",
    "release",
    "grow",
    "image",
    "fail",
    "refuse",
    "env",
    "children",
    "broken",
    "large"
  ]
    .map((name) => `{"name":"${name}","description":"","inputSchema":{"type":"object"}}`)
]
const cancelled = []
let lists = 0
let hanging

const tools = {
  echo: (id, line) => {
    const raw = line.slice(line.indexOf("\"arguments\":") + 12, line.indexOf(",\"_meta\""))
    answer(id, `{"content":[{"type":"text","text":"got it"}],"structuredContent":${raw}}`)
  },
  "weird.name/ü": (id) => answer(id, text("weird")),
  die: () => process.exit(7),
  lastWords: (id) => {
    // more than is read at once, so that the end is seen before the last of it; a full pipe is tried again
    const bytes = Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${text("x".repeat(180_000))}}\n`)
    for (let at = 0; at < bytes.length;) {
      try {
        at += writeSync(1, bytes, at)
      } catch {}
    }
    process.exit(7)
  },
  latin: (id) =>
    process.stdout.write(Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${text("caf\u00e9")}}\n`, "latin1")),
  lists: (id) => answer(id, text(String(lists))),
  flood: (id) => say(`{"jsonrpc":"2.0","id":${id},"result":${text("x".repeat(16 * 1024 * 1024))}}`),
  hang: (id) => {
    hanging = id
  },
  cancelled: (id) => answer(id, text(JSON.stringify({ hanging, cancelled }))),
  beat: (id) => {
    say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${hanging},"progress":1}}`)
    answer(id, text("beat"))
  },
  release: (id) => {
    answer(hanging, text("slow but done"))
    answer(id, text("released"))
  },
  grow: (id) => {
    pages[1].push(`{"name":"grown","inputSchema":{"type":"object"}}`)
    say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
    answer(id, text("grown"))
  },
  image: (id) =>
    answer(
      id,
      `{"content":[{"type":"text","text":"see"},{"type":"image","mimeType":"image/png","data":"${"A".repeat(4000)}"},`
        + `{"type":"resource_link","name":"doc","uri":"file:///doc"},{"type":"resource","resource":{"uri":"x:y","text":"inside"}}]}`
    ),
  fail: (id) =>
    answer(id, `{"isError":true,"content":[{"type":"text","text":"it went wrong, token=abcdefgh12345678"}]}`),
  refuse: (id) => say(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32602,"message":"bad arguments"}}`),
  env: (id) => answer(id, text(JSON.stringify(Object.keys(process.env).sort()))),
  children: (id) => {
    const child = spawn("sleep", ["1000"], { stdio: "ignore" })
    answer(id, text(JSON.stringify([process.pid, child.pid])))
  },
  broken: (id) => say(`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"a":1,"a":2}}`),
  large: (id) => answer(id, text("x".repeat(100_000)))
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === "initialize") {
    if (mode === "mute") return
    const version = mode === "future" ? "2099-01-01" : params.protocolVersion
    // a request of the server's own, which must be answered
    say(`{"jsonrpc":"2.0","id":"from-server","method":"ping"}`)
    answer(
      id,
      `{"protocolVersion":"${version}","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"f","version":"1"}}`
    )
  } else if (method === "tools/list") {
    if (params.cursor === undefined) lists++
    const page = params.cursor === undefined ? 0 : Number(params.cursor)
    if (mode === "endless") return answer(id, `{"tools":[${pages[0].join(",")}],"nextCursor":"0"}`)
    const next = page + 1 < pages.length ? `,"nextCursor":"${page + 1}"` : ""
    answer(id, `{"tools":[${pages[page].join(",")}]${next}}`)
    if (mode === "restless" && next === "") say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
  } else if (method === "tools/call") tools[params.name](id, line)
  else if (method === "notifications/cancelled") cancelled.push(params.requestId)
})
