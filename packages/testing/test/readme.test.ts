/**
 * What the READMEs claim, seen to work: every TypeScript block compiles, every program that shows its output is run and
 * prints it, the raw exchange takes place, and what is linked exists.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../..", import.meta.url))
const bin = join(root, "node_modules/.bin")

interface Block {
  readonly language: string
  readonly title: string
  readonly text: string
}

const FENCE = /^```(\w+)(?: title="([^"]+)")?\n([\s\S]*?)^```$/gm

const blocksOf = (markdown: string): ReadonlyArray<Block> =>
  [...markdown.matchAll(FENCE)].map(([, language, title], i, all) => ({
    language: language!,
    title: title ?? "",
    text: all[i]![3]!
  }))

const readmes = [
  "README.md",
  ...readdirSync(join(root, "packages")).map((name) => `packages/${name}/README.md`)
].filter((path) => existsSync(join(root, path)))
const texts = new Map(readmes.map((path) => [path, readFileSync(join(root, path), "utf8")]))
const main = blocksOf(texts.get("README.md")!)
const titled = (title: string): string => main.find((block) => block.title === title)!.text

// Inside the workspace, so that packages are found; the condition makes them those of the sources.
const parent = join(root, "packages/testing/dist")
mkdirSync(parent, { recursive: true })
const project = mkdtempSync(join(parent, "readme-"))
const environment = {
  PATH: `${bin}:${process.env["PATH"]}`,
  HOME: project,
  ERRAND_HOME: join(project, "home"),
  NODE_OPTIONS: "--conditions=@errand/source"
}

const node = (file: string) =>
  new Promise<string>((resolve, reject) => {
    execFile(
      join(bin, "node"),
      [file],
      { cwd: project, env: environment, timeout: 100_000 },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout)
        else reject(new Error(`${error.message}\n${stderr}`))
      }
    )
  })

/** Programs whose output is shown right after them. */
const programs = main.flatMap((block, i) =>
  block.language === "ts" && main[i + 1]?.language === "text" && main[i + 1]!.title === ""
    ? [{ file: block.title, output: main[i + 1]!.text }]
    : []
)

describe("the READMEs", () => {
  beforeAll(() => {
    for (const [path, text] of texts) {
      const folder = join(project, dirname(path) === "." ? "" : dirname(path).replaceAll("/", "-"))
      mkdirSync(folder, { recursive: true })
      for (const [i, { language, text: body, title }] of blocksOf(text).entries()) {
        if (language === "ts") writeFileSync(join(folder, title === "" ? `block-${i}.ts` : title), body)
        if (language === "json" && title !== "") writeFileSync(join(folder, title), body)
      }
    }
    writeFileSync(
      join(project, "tsconfig.json"),
      JSON.stringify({
        extends: join(root, "tsconfig.json"),
        include: ["**/*.ts"],
        files: undefined,
        references: [],
        compilerOptions: {
          composite: false,
          incremental: false,
          declaration: false,
          declarationMap: false,
          noEmit: true,
          rewriteRelativeImportExtensions: false,
          allowImportingTsExtensions: true
        }
      })
    )
  })
  afterAll(() => rmSync(project, { recursive: true, force: true }))

  it("there is one for the repository and one for each package", () => {
    assert.deepStrictEqual(
      readmes.slice(1),
      readdirSync(join(root, "packages")).map((name) => `packages/${name}/README.md`)
    )
    for (const [path, text] of texts) {
      if (path !== "README.md") assert.isAtMost(text.split("\n").length, 30, `${path} has about ten lines`)
    }
  })

  it("every TypeScript block compiles", { timeout: 120_000 }, () => {
    const { stdout } = spawnSync(join(bin, "tsc"), ["-p", project], { encoding: "utf8", cwd: project })
    // What is wrong in the packages themselves, `npm run check` says.
    const faults = stdout.split("\n").filter((line) => /^[^\s.]/.test(line))
    assert.deepStrictEqual(faults, [])
  })

  it("no block has syntax that the oldest Node it names does not know", () => {
    assert.include(texts.get("README.md"), "Node 22.19 or newer")
    // Declarations with `using` came with Node 24.
    const newer = [...texts.values()].flatMap(blocksOf).filter(({ text }) => /^\s*(?:await\s+)?using\s+\w/m.test(text))
    assert.deepStrictEqual(newer.map(({ title }) => title), [])
  })

  it("what is linked exists", () => {
    for (const [path, text] of texts) {
      for (const [, target] of text.matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)) {
        assert.isTrue(existsSync(join(root, dirname(path), target!)), `${path} links ${target}`)
      }
    }
  })

  it("shows some programs with their output", () => {
    assert.deepStrictEqual(programs.map(({ file }) => file), [
      "in-process.ts",
      "stdio.ts",
      "promises.ts",
      "suspend.ts",
      "resume.ts"
    ])
  })

  for (const { file, output } of programs) {
    it(`${file} prints what is shown`, { timeout: 120_000 }, async () => {
      assert.strictEqual(await node(file), output)
    })
  }

  it("PGM-3 the command line runs the same tools file", { timeout: 120_000 }, () => {
    const [command, ...args] = titled("run").trim().match(/"[^"]*"|\S+/g)!.map((word) => word.replaceAll("\"", ""))
    assert.strictEqual(command, "npx")
    const ran = spawnSync(join(bin, args[0]!), args.slice(1), {
      cwd: project,
      env: environment,
      encoding: "utf8",
      timeout: 100_000
    })
    assert.strictEqual(ran.status, 0, ran.stderr)
    assert.include(ran.stdout, "It is open.")
    assert.include(ran.stderr, "lookup_record")
  })

  it("the raw exchange takes place as it is written", { timeout: 120_000 }, async () => {
    const server = spawn(join(bin, "errand"), ["serve", "--stdio", "--model", "script:script.json"], {
      cwd: project,
      env: environment,
      stdio: ["pipe", "pipe", "inherit"]
    })
    try {
      await play(server, titled("exchange").trim().split("\n"))
    } finally {
      server.kill("SIGKILL")
    }
  })
})

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

/** Plays the client's lines, and waits for each line of the server; the ids that it makes stand for those written. */
const play = async (server: ChildProcess, lines: ReadonlyArray<string>): Promise<void> => {
  const frames = createInterface({ input: server.stdout! })[Symbol.asyncIterator]()
  const ids = new Map<string, string>()
  for (const line of lines) {
    const text = line.slice(2)
    if (line.startsWith(">")) {
      server.stdin!.write(`${text.replace(UUID, (id) => ids.get(id) ?? id)}\n`)
      continue
    }
    const shown = JSON.parse(text)
    while (true) {
      const next = await frames.next()
      if (next.done === true) return assert.fail(`the server ended before ${text}`)
      const frame = JSON.parse(next.value)
      if (frame.event !== shown.event || frame.id !== shown.id) continue
      if (frame.event === "message.reconcile" && frame.data.text !== shown.data.text) continue
      learn(shown, frame, ids)
      assert.strictEqual(contained(shown, frame, ids), undefined)
      break
    }
  }
}

const learn = (shown: unknown, frame: unknown, ids: Map<string, string>): void => {
  if (typeof shown === "string" && typeof frame === "string" && shown.match(UUID)?.[0] === shown) {
    if (!ids.has(shown)) ids.set(shown, frame)
  } else if (typeof shown === "object" && shown !== null) {
    for (const key of Object.keys(shown)) {
      learn((shown as Record<string, unknown>)[key], (frame as Record<string, unknown> | null)?.[key], ids)
    }
  }
}

/** Where something that is shown is not there; undefined when all of it is. */
const contained = (shown: unknown, frame: unknown, ids: ReadonlyMap<string, string>, path = ""): string | undefined => {
  if (typeof shown !== "object" || shown === null) {
    const meant = typeof shown === "string" ? ids.get(shown) ?? shown : shown
    return meant === frame ? undefined : `${path}: ${JSON.stringify(frame)} instead of ${JSON.stringify(meant)}`
  }
  for (const [key, value] of Object.entries(shown)) {
    const fault = contained(value, (frame as Record<string, unknown> | null | undefined)?.[key], ids, `${path}.${key}`)
    if (fault !== undefined) return fault
  }
  return undefined
}
