/** The shape of the workspace: who may import whom, the order of modules, sizes and names of files, ids of documents. */
import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const packages = fileURLToPath(new URL("../..", import.meta.url))

/** What each package may import of the others. */
const mayImport: Readonly<Record<string, ReadonlyArray<string>>> = {
  protocol: [],
  runtime: ["protocol"],
  models: ["protocol", "runtime"],
  client: ["protocol"],
  server: ["protocol", "runtime", "models", "client"],
  testing: ["protocol", "runtime", "models", "client", "server"]
}

/** Files that a process or a thread starts with; they import what they start and nothing imports them. */
const entries = new Set(["server/src/cli/Main.ts", "server/src/cli/Serve.ts", "server/src/codemode/SandboxWorker.ts"])

interface Source {
  readonly path: string
  readonly text: string
  readonly imports: ReadonlyArray<string>
}

const IMPORT = /^(?:import|export)\s(?:[^"';]*?\sfrom\s)?"([^"]+)"/gm

const sources: ReadonlyArray<Source> = Object.keys(mayImport).flatMap((name) =>
  readdirSync(join(packages, name, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => {
      const path = join(packages, name, "src", file)
      const text = readFileSync(path, "utf8")
      return { path: relative(packages, path), text, imports: [...text.matchAll(IMPORT)].map((match) => match[1]!) }
    })
)

/** What reaches outside of the program; types do not. */
const EDGE =
  /^(?:import|export) (?!type)[^"]*? from "node:(?:fs|net|os|tty|readline|child_process|worker_threads|sqlite)|\bprocess\.(?:env|exit|kill|on|once|std\w+)\b/m

const packageOf = (path: string) => path.split("/")[0]!

const linesOf = (text: string) => text.split("\n").length - 1

describe("structure", () => {
  it("a package imports only the packages that it may", () => {
    const faults = sources.flatMap(({ imports, path }) =>
      imports.filter((one) => one.startsWith("@errand/")).map((one) => one.split("/")[1]!)
        .filter((name) => !mayImport[packageOf(path)]!.includes(name))
        .map((name) => `${path} imports @errand/${name}`)
    )
    assert.deepStrictEqual(faults, [])
  })

  it("what a package imports is among its dependencies", () => {
    const builtin = (name: string) => name.startsWith("node:")
    const faults = sources.flatMap(({ imports, path }) => {
      const manifest = JSON.parse(readFileSync(join(packages, packageOf(path), "package.json"), "utf8"))
      const known = new Set(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }))
      return imports.filter((one) => !one.startsWith(".") && !builtin(one))
        .map((one) => one.split("/").slice(0, one.startsWith("@") ? 2 : 1).join("/"))
        .filter((name) => !known.has(name) && name !== manifest.name)
        .map((name) => `${path} imports ${name}`)
    })
    assert.deepStrictEqual(faults, [])
  })

  it("modules do not import each other in a circle", () => {
    const byPath = new Map(sources.map((source) => [join(packages, source.path), source]))
    const done = new Set<string>()
    const circles: Array<string> = []
    const visit = (path: string, trail: ReadonlyArray<string>): void => {
      if (trail.includes(path)) {
        circles.push([...trail.slice(trail.indexOf(path)), path].map((one) => basename(one, ".ts")).join(" > "))
        return
      }
      if (done.has(path)) return
      for (const one of byPath.get(path)?.imports ?? []) {
        if (one.startsWith(".")) visit(resolve(dirname(path), one), [...trail, path])
      }
      done.add(path)
    }
    for (const path of byPath.keys()) visit(path, [])
    assert.deepStrictEqual(circles, [])
  })

  it("an index lists its modules in dependency order", () => {
    const faults = sources.filter(({ path }) => basename(path) === "index.ts").flatMap(({ imports, path }) => {
      const listed = imports.filter((one) => one.startsWith("./"))
      return listed.flatMap((one, at) => {
        const module = sources.find((source) => source.path === join(dirname(path), one))
        const later = new Set(listed.slice(at + 1).map((other) => join(dirname(path), other)))
        return (module?.imports ?? []).filter((other) => other.startsWith("."))
          .map((other) => join(dirname(module!.path), other))
          .filter((other) => later.has(other))
          .map((other) => `${path} lists ${one} above ${basename(other)}, which it imports`)
      })
    })
    assert.deepStrictEqual(faults, [])
  })

  it("files have at most 300 lines, and their median is near 120", () => {
    const sizes = sources.map(({ path, text }) => ({ path, lines: linesOf(text) }))
    assert.deepStrictEqual(sizes.filter(({ lines }) => lines > 300), [])
    const sorted = sizes.map(({ lines }) => lines).sort((a, b) => a - b)
    assert.isAtMost(sorted[Math.floor(sorted.length / 2)]!, 150)
  })

  it("nothing is named for being left over, and each module says first what it is", () => {
    const left = /^(?:utils?|helpers?|common|types|managers?)\.ts$/i
    assert.deepStrictEqual(sources.filter(({ path }) => left.test(basename(path))).map(({ path }) => path), [])
    const silent = sources.filter(({ path, text }) => basename(path) !== "index.ts" && !text.startsWith("/**"))
    assert.deepStrictEqual(silent.map(({ path }) => path), [])
  })

  it("what touches the process, files or sockets says that it is an edge; protocol and runtime have none", () => {
    const withoutComments = (text: string) => text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "")
    const edges = sources.filter(({ text }) => EDGE.test(withoutComments(text)))
    assert.isAbove(edges.length, 20)
    const silent = edges.filter(({ text }) => !/\bedge\b/i.test(text.slice(0, text.indexOf("*/"))))
    assert.deepStrictEqual(silent.map(({ path }) => path), [])
    assert.deepStrictEqual(edges.map(({ path }) => path).filter((path) => /^(?:protocol|runtime)\//.test(path)), [])
  })

  it("each sentence of the documents that has an id is cited by a test", () => {
    const tests = Object.keys(mayImport).flatMap((name) =>
      readdirSync(join(packages, name, "test"), { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith(".ts"))
        .map((file) => readFileSync(join(packages, name, "test", file), "utf8"))
    )
    const cited = new Set(tests.flatMap((text) => text.match(/\b(?:WIR-|HRN-D)\d+\b/g) ?? []))
    const ids = ["protocol", "harness"].flatMap((name) =>
      [...readFileSync(join(packages, `../docs/${name}.md`), "utf8").matchAll(/^- ((?:WIR-|HRN-D)\d+) /gm)]
        .map((match) => match[1]!)
    )
    assert.isAbove(ids.length, 80)
    assert.deepStrictEqual(ids.filter((id) => !cited.has(id)), [])
  })

  it("every module is reached from an index or an entry", () => {
    const reached = new Set<string>()
    const visit = (path: string): void => {
      if (reached.has(path)) return
      reached.add(path)
      const source = sources.find((one) => one.path === path)
      const dynamic = [...source?.text.matchAll(/import\("(\.[^"]+)"\)/g) ?? []].map((match) => match[1]!)
      const workers = [...source?.text.matchAll(/new URL\("(\.[^"]+\.ts)"/g) ?? []].map((match) => match[1]!)
      for (const one of [...source?.imports ?? [], ...dynamic, ...workers]) {
        if (one.startsWith(".")) visit(join(dirname(path), one))
      }
    }
    for (const { path } of sources) if (basename(path) === "index.ts" || entries.has(path)) visit(path)
    assert.deepStrictEqual(sources.map(({ path }) => path).filter((path) => !reached.has(path)), [])
  })
})
