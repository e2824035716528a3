import { assert, describe, it } from "@effect/vitest"
import type { ToolOutcome } from "@errand/runtime"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { Workspace, WorkspaceUnusable } from "../../src/builtins/Workspace.ts"
import { call, Folder, told, withFolder, withOptions, withoutDescriptors } from "./Folder.ts"

const codeOf = (outcome: ToolOutcome): string => outcome._tag === "Refused" ? outcome.code : outcome._tag

const read = (path: string) => Effect.map(call("read_file", { path }), codeOf)

/** Whether open descriptors can be looked at decides how an opened file is verified; both ways must hold. */
const ways = [
  { way: "with descriptors", provide: withFolder },
  { way: "without descriptors", provide: withoutDescriptors }
]

for (const { provide, way } of ways) {
  describe(`BLT-1 confinement to the workspace, ${way}`, () => {
    it.live("what leads out is refused: .., absolute paths, links at any component", () =>
      Effect.gen(function*() {
        const { put, root, workspace } = yield* Folder
        const inside = put("sub/in.txt", "INSIDE")
        const outside = join(root, "outside.txt")
        writeFileSync(outside, "OUTSIDE")
        symlinkSync(outside, join(workspace, "link.txt"))
        symlinkSync("../outside.txt", join(workspace, "relative.txt"))
        symlinkSync(root, join(workspace, "linked"))
        symlinkSync("link.txt", join(workspace, "twice.txt"))
        symlinkSync("/proc/self/root", join(workspace, "magic"))
        symlinkSync("circle", join(workspace, "circle"))
        const refused = [
          "..",
          "../outside.txt",
          "sub/../../outside.txt",
          "sub/../../workspace/sub/in.txt",
          outside,
          inside,
          "/",
          "link.txt",
          "relative.txt",
          "twice.txt",
          "linked/outside.txt",
          "linked/workspace/../outside.txt",
          "linked/missing.txt",
          "linked",
          "circle"
        ]
        for (const path of refused) {
          assert.strictEqual(yield* read(path), "path_refused", path)
          assert.strictEqual(codeOf(yield* call("list_files", { path })), "path_refused", path)
          assert.strictEqual(codeOf(yield* call("search_files", { path, pattern: "OUT" })), "path_refused", path)
          assert.strictEqual(codeOf(yield* call("write_file", { path, content: "x" })), "path_refused", path)
        }
        assert.notStrictEqual(yield* read(`magic${outside}`), "Success")
        assert.strictEqual(yield* told("read_file", { path: "./sub/../sub//in.txt" }), "INSIDE")
        assert.deepStrictEqual(readdirSync(root).sort(), ["outside.txt", "workspace"])
      }).pipe(provide))

    it.live("WIR-3 PRO-3 PRO-4 a path that a refusal repeats is protected", () =>
      Effect.gen(function*() {
        const { workspace } = yield* Folder
        symlinkSync("/", join(workspace, "api_key=abcdefgh12345678"))
        const messages = ["../password=hunter2hunter2", "../a\u202eb", "api_key=abcdefgh12345678"].map((path) =>
          Effect.map(call("read_file", { path }), (outcome) => "message" in outcome ? outcome.message : "")
        )
        assert.deepStrictEqual(yield* Effect.all(messages), [
          "../password=[redacted] does not lie inside the workspace. The call was not executed.",
          "../a\ufffdb does not lie inside the workspace. The call was not executed.",
          "api_key=[redacted] does not lie inside the workspace. The call was not executed."
        ])
        // where a long path is cut, a secret must not be halved and so overlooked
        const long = yield* call("read_file", { path: `../${"x".repeat(280)}/ghp_${"a1".repeat(18)}` })
        assert.notInclude("message" in long ? long.message : "", "ghp_")
      }).pipe(provide))

    it.live("a link whose target is missing is refused the same, inside or outside", () =>
      Effect.gen(function*() {
        const { root, workspace } = yield* Folder
        symlinkSync(join(root, "missing"), join(workspace, "out"))
        symlinkSync("missing", join(workspace, "in"))
        for (const path of ["out", "in", "out/x", "in/x"]) {
          assert.strictEqual(yield* read(path), "path_refused")
          assert.strictEqual(codeOf(yield* call("write_file", { path, content: "x" })), "path_refused")
        }
        assert.deepStrictEqual(readdirSync(root), ["workspace"])
      }).pipe(provide))

    it.live("links that stay inside are followed", () =>
      Effect.gen(function*() {
        const { put, workspace } = yield* Folder
        const file = put("sub/in.txt", "INSIDE")
        symlinkSync("sub", join(workspace, "dir"))
        symlinkSync(file, join(workspace, "link.txt"))
        assert.strictEqual(yield* told("read_file", { path: "dir/in.txt" }), "INSIDE")
        assert.strictEqual(yield* told("read_file", { path: "link.txt" }), "INSIDE")
        assert.strictEqual(yield* told("list_files", { path: "dir" }), "in.txt\n")
        const { open, openEntry } = yield* Workspace
        const directory = yield* open(".", "directory")
        assert.strictEqual(codeOf(yield* Effect.flip(openEntry(directory, "link.txt"))), "path_refused")
      }).pipe(Effect.scoped, provide))

    it.live("pipes, sockets and devices are refused at once", () =>
      Effect.gen(function*() {
        const { workspace } = yield* Folder
        execFileSync("mkfifo", [join(workspace, "pipe")])
        const server = createServer().listen(join(workspace, "socket"))
        yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
        yield* Effect.callback<void>((resume) => {
          server.once("listening", () => resume(Effect.void))
        })
        for (const path of ["pipe", "socket"]) {
          assert.strictEqual(yield* read(path), "path_refused")
          assert.strictEqual(codeOf(yield* call("write_file", { path, content: "x" })), "path_refused")
          assert.strictEqual(codeOf(yield* call("search_files", { path, pattern: "x" })), "path_refused")
        }
        assert.strictEqual(yield* told("search_files", { pattern: "x" }), "(no match in 0 files)")
        const workspaceOfDevices = yield* Effect.provide(
          Workspace,
          Workspace.layer({ workspace: "/dev", home: "/nowhere" }),
          { local: true }
        )
        const opened = yield* Effect.scoped(Effect.flip(workspaceOfDevices.open("zero")))
        assert.strictEqual(codeOf(opened), "path_refused")
      }).pipe(Effect.scoped, provide))

    it.live("a pipe that takes a file's place after the look is refused without waiting", () =>
      Effect.gen(function*() {
        const { put, workspace } = yield* Folder
        put("f", "x")
        const { open, openEntry } = yield* Workspace
        const directory = yield* open(".", "directory")
        execFileSync("mkfifo", [join(workspace, "pipe")])
        renameSync(join(workspace, "pipe"), join(workspace, "f"))
        assert.strictEqual(codeOf(yield* Effect.flip(openEntry(directory, "f"))), "path_refused")
      }).pipe(Effect.scoped, provide))
  })
}

describe("BLT-1 reading and writing while paths change", () => {
  it.live("a path that is swapped for a link out, again and again, never gives a byte from outside", () =>
    Effect.gen(function*() {
      const { put, root, workspace } = yield* Folder
      put("real/file.txt", "INSIDE")
      mkdirSync(join(root, "outside"))
      writeFileSync(join(root, "outside/file.txt"), "OUTSIDE")
      yield* swapping(workspace, join(root, "outside"))
      const ends = new Set<string>()
      for (let i = 0; i < 3000 || (i < 20_000 && !(ends.has("Success") && ends.has("Refused"))); i++) {
        const outcome = yield* call("read_file", { path: "dir/file.txt" })
        assert.notInclude(JSON.stringify(outcome), "OUTSIDE")
        ends.add(outcome._tag)
        if (i % 100 === 0) assert.match(yield* told("search_files", { pattern: "OUTSIDE" }), /^\(no match/)
      }
      assert.deepStrictEqual([ends.has("Success"), ends.has("Refused")], [true, true])
    }).pipe(Effect.scoped, withFolder))

  it.live("a directory that is swapped for a link out never takes a file or a directory outside", () =>
    Effect.gen(function*() {
      const { put, root, workspace } = yield* Folder
      put("real/file.txt", "INSIDE")
      mkdirSync(join(root, "outside"))
      yield* swapping(workspace, join(root, "outside"))
      const ends = new Set<string>()
      for (let i = 0; i < 100 || (i < 5000 && !(ends.has("Success") && ends.has("Refused"))); i++) {
        const outcome = yield* call("write_file", { path: `dir/deep${i % 3}/written${i}.txt`, content: "x" })
        ends.add(outcome._tag)
      }
      assert.deepStrictEqual([ends.has("Success"), ends.has("Refused")], [true, true])
      assert.deepStrictEqual(readdirSync(join(root, "outside")), [])
    }).pipe(Effect.scoped, withFolder))
})

/** A process that swaps the directory `dir` of a workspace, which `real` becomes, with a link out as fast as it can. */
const swapping = (workspace: string, outside: string) =>
  Effect.gen(function*() {
    const script = `
      const fs = require("node:fs")
      const attempt = (name, ...args) => { try { fs[name](...args) } catch {} }
      const [workspace, outside] = process.argv.slice(1)
      const [real, dir] = ["real", "dir"].map((name) => workspace + "/" + name)
      process.stdin.on("end", () => process.exit()).resume()
      setTimeout(() => process.exit(), 20000)
      // each state lasts from no time to as long as a call takes, so that calls meet every order of them
      const dwell = () => {
        for (const until = performance.now() + Math.max(0, Math.random() - 0.7); performance.now() < until;);
      }
      const round = () => {
        for (let i = 0; i < 20; i++) {
          attempt("rmSync", dir, { recursive: true, force: true })
          attempt("renameSync", real, dir)
          dwell()
          attempt("renameSync", dir, real)
          attempt("rmSync", dir, { recursive: true, force: true })
          attempt("symlinkSync", outside, dir)
          dwell()
          attempt("unlinkSync", dir)
        }
        setImmediate(round)
      }
      process.stdout.write("ready")
      round()`
    yield* Effect.acquireRelease(
      Effect.callback<ChildProcess>((resume) => {
        const child = spawn(process.execPath, ["-e", script, workspace, outside], {
          stdio: ["pipe", "pipe", "inherit"]
        })
        child.stdout.once("data", () => resume(Effect.succeed(child)))
      }),
      (child) =>
        Effect.callback<void>((resume) => {
          child.once("exit", () => resume(Effect.void))
          child.stdin!.end()
        })
    )
  })

describe("BLT-6 the home directory", () => {
  const inside = withOptions(({ workspace }) => ({ home: join(workspace, ".errand") }))

  it.live("is refused even when it lies inside the workspace, through a link too", () =>
    Effect.gen(function*() {
      const { put, workspace } = yield* Folder
      put(".errand/session", "SECRET")
      put(".errandry/x", "open")
      symlinkSync(".errand", join(workspace, "link"))
      for (const path of [".errand/session", ".errand", "link/session", ".errand/new", "x/../.errand/session"]) {
        assert.strictEqual(yield* read(path), "path_refused", path)
        assert.strictEqual(codeOf(yield* call("list_files", { path })), "path_refused", path)
        assert.strictEqual(codeOf(yield* call("write_file", { path, content: "x" })), "path_refused", path)
      }
      assert.notInclude(yield* told("search_files", { pattern: "SECRET" }), "session")
      assert.strictEqual(yield* told("read_file", { path: ".errandry/x" }), "open")
    }).pipe(inside))

  it.live("is refused before it exists", () =>
    Effect.gen(function*() {
      const { workspace } = yield* Folder
      assert.strictEqual(codeOf(yield* call("write_file", { path: ".errand/x", content: "x" })), "path_refused")
      assert.strictEqual(codeOf(yield* call("write_file", { path: ".errand", content: "x" })), "path_refused")
      assert.deepStrictEqual(readdirSync(workspace), [])
    }).pipe(inside))

  it.live("is refused by its real place when it is given through a link", () =>
    Effect.gen(function*() {
      const { put } = yield* Folder
      put("state/errand/session", "SECRET")
      assert.strictEqual(yield* read("state/errand/session"), "path_refused")
    }).pipe(withOptions(({ root, workspace }) => {
      mkdirSync(join(workspace, "state"))
      symlinkSync(join(workspace, "state"), join(root, "elsewhere"))
      return { home: join(root, "elsewhere/errand") }
    })))
})

describe("PGM-1 the workspace", () => {
  it.live("must be a directory", () =>
    Effect.gen(function*() {
      const { put, root } = yield* Folder
      const file = put("f", "x")
      for (const workspace of [file, join(root, "missing")]) {
        const error = yield* Effect.flip(Effect.scoped(Layer.build(Workspace.layer({ workspace, home: root }))))
        assert.instanceOf(error, WorkspaceUnusable)
        assert.include(error.message, workspace)
      }
    }).pipe(withFolder))

  it.live("BLT-1 is none where what is opened cannot be verified", () =>
    Effect.gen(function*() {
      const { root, workspace } = yield* Folder
      const layer = Workspace.layer({ workspace, home: root, descriptors: "/nowhere", linkFree: false })
      const error = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
      assert.instanceOf(error, WorkspaceUnusable)
      assert.include(error.message, "/nowhere is missing")
    }).pipe(withFolder))

  it.live("may itself be given through a link; when it is gone, calls fail and nothing else does", () =>
    Effect.gen(function*() {
      const { put, workspace } = yield* Folder
      put("f", "x")
      assert.strictEqual(yield* told("read_file", { path: "f" }), "x")
      rmSync(workspace, { recursive: true })
      assert.strictEqual(yield* read("f"), "Failure")
      assert.strictEqual(codeOf(yield* call("list_files", {})), "Failure")
      assert.strictEqual(codeOf(yield* call("run_command", { command: "true" })), "Failure")
    }).pipe(withOptions(({ root, workspace }) => {
      symlinkSync(workspace, join(root, "link"))
      return { workspace: join(root, "link") }
    })))

  it.live("is left without an open descriptor by calls that were interrupted", () =>
    Effect.gen(function*() {
      const { put } = yield* Folder
      for (let i = 0; i < 50; i++) put(`d${i % 5}/f${i}`, "x".repeat(100_000))
      const before = readdirSync("/proc/self/fd").length
      for (let i = 0; i < 20; i++) {
        const fiber = yield* Effect.forkChild(call("search_files", { pattern: "y" }))
        for (let turn = 0; turn < i; turn++) yield* Effect.promise(() => new Promise((next) => setImmediate(next)))
        yield* Fiber.interrupt(fiber)
      }
      assert.strictEqual(readdirSync("/proc/self/fd").length, before)
    }).pipe(withFolder))
})
