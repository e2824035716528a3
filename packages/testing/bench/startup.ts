/**
 * From spawn to the response of `initialize`, and memory at rest, beside a bare Node that writes one line.
 *
 * Rule: the two take turns, and the figures are medians of ratios and differences within one round.
 * `node --conditions=@errand/source packages/testing/bench/startup.ts [--quick]`, after `npm run build`.
 */
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { median, shuffle } from "./statistics.ts"
import type { Goal } from "./wire.ts"

const binary = fileURLToPath(new URL("../../server/bin/errand.mjs", import.meta.url))
const home = mkdtempSync(join(tmpdir(), "errand-bench-"))
const initialize = {
  id: "r1",
  method: "initialize",
  params: { required_capabilities: ["client.tools"], client_tools: [] }
}

/** Long enough that garbage of the start is collected or not, the same for both. */
const REST_MS = 300

interface Start {
  readonly ms: number
  readonly residentMb: number
}

const residentMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? NaN) / 1024

const start = (args: ReadonlyArray<string>, input: string): Promise<Start> =>
  new Promise((resolve, reject) => {
    const from = performance.now()
    const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] })
    child.on("error", reject)
    child.stdin.on("error", () => {})
    child.stdin.write(input)
    child.stdout.once("data", (chunk: Buffer) => {
      const ms = performance.now() - from
      if (input !== "" && !chunk.includes("\"result\"")) reject(new Error(chunk.toString("utf8")))
      setTimeout(() => {
        const resident = residentMb(child.pid!)
        child.once("exit", () => resolve({ ms, residentMb: resident }))
        child.stdin.end()
      }, REST_MS)
    })
  })

const starts = {
  bare: () => start(["-e", "process.stdout.write('ready\\n'); process.stdin.resume()"], ""),
  errand: () =>
    start([binary, "serve", "--stdio", "--model", "script:demo", "--home", home], `${JSON.stringify(initialize)}\n`)
}

/** Measures and prints; gives what belongs into the results. */
export const startup = async (rounds: number) => {
  const samples: Array<Record<keyof typeof starts, Start>> = []
  for (let round = -1; round < rounds; round++) {
    const taken: Partial<Record<keyof typeof starts, Start>> = {}
    for (const name of shuffle(Object.keys(starts) as Array<keyof typeof starts>)) taken[name] = await starts[name]()
    if (round >= 0) samples.push(taken as Record<keyof typeof starts, Start>)
  }
  rmSync(home, { recursive: true })
  const ratio = median(samples.map(({ bare, errand }) => errand.ms / bare.ms))
  const more = median(samples.map(({ bare, errand }) => errand.residentMb - bare.residentMb))
  const ms = (name: keyof typeof starts) => median(samples.map((sample) => sample[name].ms)).toFixed(0)
  const mb = (name: keyof typeof starts) => median(samples.map((sample) => sample[name].residentMb)).toFixed(0)
  process.stdout.write(
    `spawn to initialize: ${ms("errand")} ms, bare node to one line ${ms("bare")} ms, ratio ${ratio.toFixed(2)}\n` +
      `resident at rest: ${mb("errand")} MB, bare node ${mb("bare")} MB, ${more.toFixed(1)} MB more\n`
  )
  const goals: Array<Goal> = [
    { name: "spawn to initialize over bare node", most: 2, value: ratio },
    { name: "resident MB above bare node", most: 15, value: more }
  ]
  return { samples, goals }
}

if (import.meta.main) await startup(process.argv.includes("--quick") ? 5 : 11)
