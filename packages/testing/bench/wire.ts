/**
 * The live client call against the bare child and against the MCP and ACP SDKs: round trips per second, over real pipes.
 *
 * Rule: contestants take turns in an order by chance, and only ratios within one round count; their median is the figure.
 * `node --conditions=@errand/source packages/testing/bench/wire.ts [--quick] [--free] [--only=a,b]`
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { bundle, directory } from "./bundle.ts"
import { type Job, jobs, nameOf, type Taken } from "./job.ts"
import { median, shuffle, table } from "./statistics.ts"

interface Contestant {
  readonly name: string
  readonly driver: string
  readonly args: ReadonlyArray<string>
  /** Our runner sends what a model asked for at once, and then asks again: there is no loop. */
  readonly loop: boolean
}

const contestants: ReadonlyArray<Contestant> = [
  { name: "raw3", driver: "raw", args: ["raw3"], loop: true },
  { name: "raw5", driver: "raw", args: ["raw5"], loop: true },
  { name: "errand", driver: "raw", args: ["errand"], loop: false },
  { name: "errand, own client", driver: "client", args: [], loop: false },
  { name: "acp", driver: "acp", args: [], loop: true },
  { name: "mcp", driver: "mcp", args: [], loop: true }
]

/** One measurement. */
export interface Sample extends Job, Taken {
  readonly contestant: string
  readonly round: number
}

/** How a run goes. */
export interface WireOptions {
  readonly rounds: number
  readonly warmUps: number
  readonly only?: ReadonlyArray<string> | undefined
  /** Client and server on one core, so that a rate is the work of both sides; else as the system places them. */
  readonly pinned: boolean
}

class Driver {
  private readonly child: ChildProcess
  private readonly answers: Array<(answer: unknown) => void> = []
  constructor({ args, driver }: Contestant, plan: ReadonlyArray<Job>, pinned: boolean) {
    const script = [`${directory}driver-${driver}.mjs`, ...args, JSON.stringify({ jobs: plan })]
    const command = pinned ? ["taskset", "-c", "0", process.execPath, ...script] : [process.execPath, ...script]
    this.child = spawn(command[0]!, command.slice(1), { stdio: ["ignore", "inherit", "inherit", "ipc"] })
    this.child.on("message", (answer) => this.answers.shift()?.(answer))
    this.child.on("exit", (code) => {
      if (code !== 0) throw new Error(`the driver ${driver} ${args.join(" ")} ended with ${code}`)
    })
  }
  next(): Promise<unknown> {
    return new Promise((resolve) => this.answers.push(resolve))
  }
  do(job: Job): Promise<Taken> {
    const taken = this.next()
    this.child.send(job)
    return taken as Promise<Taken>
  }
  close(): void {
    this.child.disconnect()
  }
}

const canPin = (): boolean => spawnSync("taskset", ["-c", "0", "true"]).status === 0

/** Measures all contestants; the bundles must be there. */
export const measure = async ({ only, pinned, rounds, warmUps }: WireOptions): Promise<ReadonlyArray<Sample>> => {
  const plans = Array.from({ length: warmUps + rounds }, (_, round) => (round < warmUps ? [...jobs] : shuffle(jobs)))
  const drivers = new Map<Contestant, Driver>()
  for (const contestant of contestants) {
    if (only !== undefined && !only.includes(contestant.name)) continue
    const own = plans.flat().filter((job) => contestant.loop || job.shape === "steps")
    const driver = new Driver(contestant, own, pinned)
    await driver.next()
    drivers.set(contestant, driver)
  }
  const samples: Array<Sample> = []
  for (const [index, plan] of plans.entries()) {
    for (const job of plan) {
      for (const [contestant, driver] of shuffle([...drivers])) {
        if (!contestant.loop && job.shape === "loop") continue
        const taken = await driver.do(job)
        if (index >= warmUps) samples.push({ ...job, ...taken, contestant: contestant.name, round: index - warmUps })
      }
    }
  }
  for (const driver of drivers.values()) driver.close()
  return samples
}

const cell = (job: Job): string => `${nameOf(job.size)} x${job.inFlight}${job.shape === "loop" ? " loop" : ""}`

/** A goal of the contract, and what was measured. */
export type Goal =
  & { readonly name: string; readonly value: number }
  & ({ readonly least: number } | { readonly most: number })

const rate = (sample: Sample): number => sample.calls / sample.ms * 1000
const workUs = (sample: Sample): number => sample.clientUs + sample.serverUs

const ratiosOf = (
  samples: ReadonlyArray<Sample>,
  job: Job,
  over: string,
  under: string,
  of: (over: Sample, under: Sample) => number
): number => {
  const at = (name: string, round: number) =>
    samples.find((one) => one.contestant === name && one.round === round && cell(one) === cell(job))
  const rounds = new Set(samples.map((one) => one.round))
  return median([...rounds].flatMap((round) => {
    const [first, second] = [at(over, round), at(under, round)]
    return first === undefined || second === undefined ? [] : [of(first, second)]
  }))
}

/** The table of rates and ratios, and the goals that hold for it. */
export const report = (samples: ReadonlyArray<Sample>, pinned: boolean): { text: string; goals: Array<Goal> } => {
  const names = contestants.map((one) => one.name).filter((name) => samples.some((one) => one.contestant === name))
  const cells = jobs.filter((job) => samples.some((one) => cell(one) === cell(job)))
  const medianOf = (job: Job, name: string, of: (sample: Sample) => number) => {
    const values = samples.filter((one) => one.contestant === name && cell(one) === cell(job)).map(of)
    return values.length === 0 ? NaN : median(values)
  }
  const shown = (value: number, digits: number) => Number.isNaN(value) ? "-" : value.toFixed(digits)
  const rates = cells.map((job) => [cell(job), ...names.map((name) => shown(medianOf(job, name, rate), 0))])
  const works = cells.map((job) => [cell(job), ...names.map((name) => shown(medianOf(job, name, workUs), 1))])
  const servers = cells.map((
    job
  ) => [cell(job), ...names.map((name) => shown(medianOf(job, name, (s) => s.serverUs), 1))])
  const others = names.filter((name) => name !== "errand")
  const steps = cells.filter((job) => job.shape === "steps")
  const ratio = (job: Job, name: string) => ratiosOf(samples, job, "errand", name, (a, b) => rate(a) / rate(b))
  const work = (job: Job, name: string) => ratiosOf(samples, job, "errand", name, (a, b) => workUs(b) / workUs(a))
  const ratios = steps.map((job) => [
    cell(job),
    ...others.map((name) => `${shown(ratio(job, name), 2)} (${shown(work(job, name), 2)})`)
  ])
  const goals = !pinned ? [] : steps.flatMap((job) => {
    const small = job.size < 8192
    const wanted: Array<[string, number]> = [
      ...(job.size === 4096 ? [["raw3", 0.75] as [string, number]] : []),
      ["acp", small ? 1.2 : 1],
      ["mcp", small ? 1.2 : 1]
    ]
    return wanted.filter(([name]) => names.includes(name)).map(([name, least]) => ({
      name: `${cell(job)} over ${name}`,
      least,
      value: ratio(job, name)
    }))
  })
  const where = pinned ? "one core for both" : "placed by the system"
  const text = [
    `round trips per second, ${where}`,
    table([["", ...names], ...rates]),
    "",
    "processor us per call, client and server",
    table([["", ...names], ...works]),
    "",
    "processor us per call, server",
    table([["", ...names], ...servers]),
    "",
    "errand over the others in the same shape: rate (work)",
    table([["", ...others], ...ratios])
  ].join("\n")
  return { text, goals }
}

/** Measures and prints; gives what belongs into the results. */
export const wire = async (options: Omit<WireOptions, "pinned"> & { readonly free: boolean }) => {
  const pinned = !options.free && canPin()
  const samples = await measure({ ...options, pinned })
  const { goals, text } = report(samples, pinned)
  process.stdout.write(`${text}\n`)
  return { pinned, samples, goals }
}

if (import.meta.main) {
  const has = (flag: string) => process.argv.includes(flag)
  const given = (flag: string) => process.argv.find((arg) => arg.startsWith(`--${flag}=`))?.slice(flag.length + 3)
  if (!has("--bundled")) await bundle()
  const { goals } = await wire({
    rounds: Number(given("rounds") ?? (has("--quick") ? 3 : 9)),
    warmUps: Number(given("warm-ups") ?? 2),
    free: has("--free"),
    only: given("only")?.split(",")
  })
  process.stdout.write(goals.map((goal) => `${JSON.stringify(goal)}\n`).join(""))
}
