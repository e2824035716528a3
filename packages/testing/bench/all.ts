/**
 * `npm run bench`: every measurement that has a goal, tables on stdout, `bench-results/*.json` with all samples.
 *
 * Exits with 1 when a goal is missed by more than a quarter, which is what a busy machine may cost. With `--quick`, fewer
 * rounds.
 */
import { spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { cpus } from "node:os"
import { fileURLToPath } from "node:url"
import { bundle } from "./bundle.ts"
import { startup } from "./startup.ts"
import { type Goal, wire } from "./wire.ts"

const quick = process.argv.includes("--quick")
const packages = fileURLToPath(new URL("../../", import.meta.url))
const results = fileURLToPath(new URL("../../../bench-results/", import.meta.url))
const MARGIN = 1.25

const write = (name: string, value: object): void => {
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length }
  writeFileSync(
    `${results}${name}.json`,
    `${JSON.stringify({ at: new Date().toISOString(), machine, ...value }, null, 1)}\n`
  )
}

const title = (text: string): boolean => process.stdout.write(`\n== ${text}\n`)

mkdirSync(results, { recursive: true })
const goals: Array<Goal> = []

title("the live call, client and server on one core")
await bundle()
const pinned = await wire({ rounds: quick ? 3 : 9, warmUps: quick ? 2 : 12, free: false })
write("wire", pinned)
goals.push(...pinned.goals)

if (!quick) {
  title("the live call, placed by the system")
  write("wire-free", await wire({ rounds: 5, warmUps: 6, free: true }))
}

title("start-up and memory at rest")
const starts = await startup(quick ? 5 : 11)
write("startup", starts)
goals.push(...starts.goals)

/** Benchmarks of single packages: each prints its own table, and ends with 1 when its own bound is broken. */
const own = [
  ["server/bench/growth.ts", "growth of a session, and a pending call"],
  ["server/bench/calls.ts", "a call inside the server"],
  ["protocol/bench/json.ts", "the strict reader"],
  ["runtime/bench/redaction.ts", "protection"],
  ["runtime/bench/suspension.ts", "suspension and resume"],
  ["server/bench/sessions.ts", "stored sessions"]
] as const
const broken: Array<string> = []
for (const [file, what] of quick ? own.slice(0, 1) : own) {
  title(what)
  const { status } = spawnSync(process.execPath, ["--conditions=@errand/source", `${packages}${file}`], {
    stdio: "inherit",
    timeout: 120_000
  })
  if (status !== 0) broken.push(file)
}

title("goals")
for (const goal of goals) {
  const { name, value } = goal
  const [bound, met, near] = "least" in goal
    ? [`at least ${goal.least}`, value >= goal.least, value * MARGIN >= goal.least]
    : [`at most ${goal.most}`, value <= goal.most, value <= goal.most * MARGIN]
  process.stdout.write(`${met ? "met   " : near ? "near  " : "missed"}  ${name}: ${value.toFixed(2)}, ${bound}\n`)
  if (!near) broken.push(name)
}
for (const name of broken) process.stdout.write(`broken  ${name}\n`)
process.exit(broken.length === 0 ? 0 : 1)
