import { assert, describe, it } from "@effect/vitest"
import { Ids, Limits } from "@errand/protocol"
import { HistoryCheck, type Record, StorageFailed } from "@errand/runtime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { TestClock } from "effect/testing"
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as Path from "node:path"
import { type OpenSession, type PageRequest, SessionStore } from "../src/SessionStore.ts"
import * as WriteAheadLog from "../src/WriteAheadLog.ts"
import { assistant, callIds, choices, ended, result, root, tell, user } from "./RecordStory.ts"

const NOBODY = "00000000-0000-4000-8000-000000000000"
const run = root("r")

/** A folder of its own that is gone after the test. */
const folder = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(Path.join(tmpdir(), "errand-sessions-"))),
  (path) => Effect.sync(() => fs.rmSync(path, { recursive: true, force: true }))
)

/** A store over a home that does not exist yet. */
const layerFresh = Layer.unwrap(Effect.map(folder, (path) => SessionStore.layerSqlite(Path.join(path, "a", "home"))))

const filesOf = (home: string) =>
  fs.existsSync(home) ? (fs.readdirSync(home, { recursive: true }) as Array<string>).sort() : []

const databaseOf = (home: string, sessionId: string) =>
  Path.join(home, filesOf(home).find((name) => name.endsWith(`${sessionId}.db`))!)

type Entry = { readonly [key: string]: unknown }

const pageOf = Effect.fnUntraced(function*(request: PageRequest) {
  const page = yield* (yield* SessionStore).page(request)
  return { ...page, entries: page.entries.map((text): Entry => JSON.parse(text)) }
})

/** All entries of a session, page by page. */
const entriesOf = Effect.fnUntraced(function*(sessionId: string, limit = 100) {
  const entries: Array<Entry> = []
  let page = yield* pageOf({ sessionId, limit })
  for (;;) {
    entries.push(...page.entries)
    if (page.nextCursor === null) return entries
    page = yield* pageOf({ sessionId, limit, from: { revision: page.revision, cursor: page.nextCursor } })
  }
})

const appendAll = (session: OpenSession, records: ReadonlyArray<Record>) =>
  Effect.forEach(records, (record) => session.history.append([record]), { discard: true })

/** What an effect fails with; whatever it is, it also says something to a person. */
const tagOf = <E extends Error & { readonly _tag: string }, R>(effect: Effect.Effect<unknown, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => {
    assert.match(error.message, /\w+ \w+/)
    return error._tag
  })

const suite = (name: string, layer: Layer.Layer<SessionStore>) =>
  describe(`section 4: sessions ${name}`, () => {
    it.effect("SES-1 SES-2 a session exists once it is made, and can be opened again once it is closed", () =>
      Effect.gen(function*() {
        const store = yield* SessionStore
        const session = yield* store.create
        assert.strictEqual(session.entries(), 0)
        assert.strictEqual(yield* tagOf(store.open(session.sessionId)), "SessionLocked")
        yield* session.close
        const again = yield* store.open(session.sessionId)
        assert.strictEqual(again.sessionId, session.sessionId)
        assert.strictEqual(again.history.revision(), session.history.revision())
      }).pipe(Effect.provide(layer)))

    it.effect("SES-2 what is no id of a session is not found", () =>
      Effect.gen(function*() {
        const store = yield* SessionStore
        yield* store.create
        for (const id of [NOBODY, "x", "", "../../etc/passwd", "a/b", "..", "\u0000", "__proto__", "x".repeat(1000)]) {
          assert.strictEqual(yield* tagOf(store.open(id)), "SessionNotFound")
          assert.strictEqual(yield* tagOf(store.page({ sessionId: id })), "SessionNotFound")
        }
      }).pipe(Effect.provide(layer)))

    it.effect("SES-9 an append to a closed session fails", () =>
      Effect.gen(function*() {
        const session = yield* (yield* SessionStore).create
        yield* session.close
        yield* session.close
        const error = yield* Effect.flip(session.history.append([user(run, "late")]))
        assert.instanceOf(error, StorageFailed)
        assert.deepStrictEqual(yield* entriesOf(session.sessionId), [])
      }).pipe(Effect.provide(layer)))

    it.effect("SES-8 a reopened session continues the conversation", () =>
      Effect.gen(function*() {
        const store = yield* SessionStore
        const session = yield* store.create
        yield* appendAll(session, [
          user(run, "one \u0000 \ud83d\ude00"),
          { ...assistant(run, "m", "", ["a", "b"]), provider: `{"n":1.0000000000000000001}` } as Record,
          result(run, "m", 1, "b"),
          result(run, "m", 0, "a"),
          assistant(run, "n", "done"),
          ended("r")
        ])
        const { messages, revision } = session.history
        yield* session.close
        const again = (yield* store.open(session.sessionId)).history
        assert.deepStrictEqual(again.messages, messages)
        assert.strictEqual(again.revision(), revision())
        assert.deepStrictEqual(callIds(again.messages), callIds(messages))
        assert.deepStrictEqual(messages.map((message) => message.role), ["user", "assistant", "tool", "assistant"])
      }).pipe(Effect.provide(layer)))

    it.effect("SES-5 the revision changes with every append", () =>
      Effect.gen(function*() {
        const { history } = yield* (yield* SessionStore).create
        const seen = [history.revision()]
        for (const record of [user(run, "x"), assistant(run, "m", ""), ended("r")]) {
          yield* history.append([record])
          seen.push(history.revision())
        }
        assert.strictEqual(new Set(seen).size, 4)
      }).pipe(Effect.provide(layer)))

    it.effect("SES-10 what a crash left open is closed at opening, once and durably", () =>
      Effect.gen(function*() {
        const store = yield* SessionStore
        const session = yield* store.create
        yield* appendAll(session, [user(run, "x"), assistant(run, "m", "", ["a", "b"]), result(run, "m", 1, "b")])
        yield* session.close
        const repaired = yield* store.open(session.sessionId)
        const tool = repaired.history.messages.at(-1)!
        assert.deepStrictEqual(tool.role === "tool" && tool.results.map((one) => one.outcome), ["unknown", "success"])
        const entries = yield* entriesOf(session.sessionId)
        assert.deepStrictEqual(entries.map((entry) => entry["status"]), [undefined, "unknown", "success", "failed"])
        assert.deepInclude(entries.at(-1)!["error"], { code: "interrupted" })
        assert.strictEqual(repaired.entries(), entries.length)
        yield* repaired.close
        const again = yield* store.open(session.sessionId)
        assert.strictEqual(again.history.revision(), repaired.history.revision())
        assert.deepStrictEqual(again.history.messages, repaired.history.messages)
      }).pipe(Effect.provide(layer)))

    it.effect("SES-8 CAL-2 a delegated agent has messages of its own, also when its task is resumed", () =>
      Effect.gen(function*() {
        const store = yield* SessionStore
        const session = yield* store.create
        yield* appendAll(session, [user(run, "x"), assistant(run, "m", "", ["task"])])
        const task = yield* session.taskHistory("t", "s")
        assert.strictEqual(
          yield* session.taskHistory("t", "s").pipe(Effect.map((same) => same.messages)),
          task.messages
        )
        // recorded as the task's, whatever the record says
        yield* task.append([user(run, "inner"), assistant(run, "n", "inside", ["c"])])
        yield* task.append([result(run, "n", 0, "c")])
        assert.deepStrictEqual(task.messages.map((message) => message.role), ["user", "assistant", "tool"])
        assert.deepStrictEqual(session.history.messages.map((message) => message.role), ["user", "assistant"])
        assert.deepStrictEqual(callIds(task.messages), ["c"])
        yield* appendAll(session, [result(run, "m", 0, "task"), ended("r")])
        const entries = yield* entriesOf(session.sessionId)
        assert.deepStrictEqual(
          entries.map((entry) => [entry["kind"], entry["task_id"], entry["subagent_id"]]),
          [
            ["user", null, null],
            ["user", "t", "s"],
            ["assistant", "t", "s"],
            ["tool", "t", "s"],
            ["tool", null, null],
            ["run", null, null]
          ]
        )
        const resumed = yield* session.taskHistory("t", "s2")
        assert.deepStrictEqual(resumed.messages, task.messages)
        yield* session.close
        const again = yield* store.open(session.sessionId)
        assert.deepStrictEqual((yield* again.taskHistory("t", "s3")).messages, task.messages)
        assert.deepStrictEqual((yield* again.taskHistory("unknown", "s4")).messages, [])
      }).pipe(Effect.provide(layer)))

    it.effect("SES-4 sessions are listed newest first, page by page, with title, times and number of entries", () =>
      Effect.gen(function*() {
        const store = yield* SessionStore
        const made: Array<string> = []
        assert.deepStrictEqual(yield* store.list({}), { sessions: [], nextCursor: null })
        yield* TestClock.setTime(Date.UTC(2030, 0, 2, 3, 4, 5, 6))
        for (let i = 0; i < 5; i++) made.unshift((yield* store.create).sessionId)
        assert.isNull((yield* store.list({ limit: 5 })).nextCursor)
        let page = yield* store.list({ limit: 2 })
        // a newer session does not disturb the pages
        const session = yield* store.create
        const seen = page.sessions.map((one) => one.session_id)
        while (page.nextCursor !== null) {
          page = yield* store.list({ limit: 2, cursor: page.nextCursor })
          assert.isAbove(page.sessions.length, 0)
          seen.push(...page.sessions.map((one) => one.session_id))
        }
        assert.deepStrictEqual(seen, made)
        yield* TestClock.adjust("1 second")
        yield* appendAll(session, [user(run, "the title"), ended("r")])
        const [newest] = (yield* store.list({})).sessions
        assert.deepStrictEqual({ ...newest, created_at: newest!.created_at.slice(0, 19) }, {
          session_id: session.sessionId,
          created_at: "2030-01-02T03:04:05",
          updated_at: "2030-01-02T03:04:06.006Z",
          entries: 2,
          title: "the title"
        })
      }).pipe(Effect.provide(layer)))

    it.effect("SES-4 WIR-45 a session that is used does not move in the list", () =>
      Effect.gen(function*() {
        const store = yield* SessionStore
        const first = yield* store.create
        const second = yield* store.create
        yield* TestClock.adjust("1 second")
        yield* appendAll(first, [user(run, "x")])
        const { sessions } = yield* store.list({})
        assert.deepStrictEqual(sessions.map((one) => one.session_id), [second.sessionId, first.sessionId])
      }).pipe(Effect.provide(layer)))

    it.effect("SES-4 a cursor of the list that is damaged or another's is invalid", () =>
      Effect.gen(function*() {
        const store = yield* SessionStore
        const { sessionId } = yield* store.create
        const session = yield* store.create
        yield* appendAll(session, [user(run, "x"), ended("r")])
        const cursor = (yield* store.list({ limit: 1 })).nextCursor!
        const foreign = (yield* store.page({ sessionId: session.sessionId, limit: 1 })).nextCursor!
        for (
          const wrong of ["", "no such cursor", `${cursor}A`, cursor.slice(1), cursor.slice(0, -2), sessionId, foreign]
        ) {
          assert.strictEqual(yield* tagOf(store.list({ cursor: wrong })), "CursorInvalid")
        }
      }).pipe(Effect.provide(layer)))

    it.effect("SES-5 pages follow each other without gap, and a cursor belongs to its session and revision", () =>
      Effect.gen(function*() {
        const store = yield* SessionStore
        const session = yield* store.create
        const { sessionId } = session
        const other = yield* store.create
        assert.deepStrictEqual(yield* pageOf({ sessionId }), { revision: "0", entries: [], nextCursor: null })
        yield* appendAll(session, [user(run, "x"), assistant(run, "m", "y"), ended("r")])
        const all = yield* entriesOf(sessionId)
        assert.strictEqual(all.length, 3)
        assert.deepStrictEqual(yield* entriesOf(sessionId, 1), all)
        assert.deepStrictEqual(yield* entriesOf(sessionId, 2), all)
        assert.isNull((yield* pageOf({ sessionId, limit: 3 })).nextCursor, "the last page has no cursor")
        const page = yield* pageOf({ sessionId, limit: 2 })
        assert.strictEqual(page.revision, session.history.revision())
        const from = { revision: page.revision, cursor: page.nextCursor! }
        assert.strictEqual(yield* tagOf(pageOf({ sessionId: other.sessionId, from })), "CursorInvalid")
        assert.strictEqual(yield* tagOf(pageOf({ sessionId, from: { ...from, cursor: "x" } })), "CursorInvalid")
        const listed = (yield* store.list({ limit: 1 })).nextCursor!
        assert.strictEqual(yield* tagOf(pageOf({ sessionId, from: { ...from, cursor: listed } })), "CursorInvalid")
        assert.strictEqual(yield* tagOf(pageOf({ sessionId, from: { ...from, revision: "99" } })), "StaleRevision")
        yield* session.history.append([user(root("r2"), "more")])
        assert.strictEqual(yield* tagOf(pageOf({ sessionId, from })), "StaleRevision")
        const current = { ...from, revision: session.history.revision() }
        assert.strictEqual(yield* tagOf(pageOf({ sessionId, from: current })), "StaleRevision")
      }).pipe(Effect.provide(layer)))

    it.effect("SES-9 parallel appends keep their order and are all there", () =>
      Effect.gen(function*() {
        const session = yield* (yield* SessionStore).create
        const ids = Array.from({ length: 50 }, (_, i) => `c${i}`)
        yield* appendAll(session, [user(run, "x"), assistant(run, "m", "", ids)])
        yield* Effect.forEach(ids, (id, i) => session.history.append([result(run, "m", i, id)]), {
          concurrency: "unbounded",
          discard: true
        })
        const tool = session.history.messages.at(-1)!
        assert.deepStrictEqual(tool.role === "tool" && tool.results.map((one) => one.id), ids)
        assert.strictEqual(session.history.revision(), "52")
        assert.deepStrictEqual(
          (yield* entriesOf(session.sessionId)).slice(1).map((entry) => entry["name"]),
          ids.map((id) => `tool_${id}`)
        )
      }).pipe(Effect.provide(layer)))

    it.effect.prop(
      "SES-10 SES-11 whatever was recorded is there after reopening, and valid for every provider",
      { choices },
      ({ choices }) =>
        Effect.gen(function*() {
          const store = yield* SessionStore
          const session = yield* store.create
          yield* appendAll(session, tell(choices))
          const before = yield* entriesOf(session.sessionId)
          const messages = [...session.history.messages]
          yield* session.close
          const again = yield* store.open(session.sessionId)
          const after = yield* entriesOf(session.sessionId, 7)
          assert.deepStrictEqual(after.slice(0, before.length), before)
          assert.strictEqual(again.entries(), after.length)
          assert.deepStrictEqual(again.history.messages.slice(0, messages.length), messages)
          assert.deepStrictEqual(HistoryCheck.check(again.history.messages), [])
          yield* again.close
        }).pipe(Effect.provide(layer, { local: true })),
      { arbitrary: { runs: 15 } }
    )
  })

suite("in memory", SessionStore.layerMemory)
suite("in files", layerFresh)

describe("section 4: pages under other bounds", () => {
  const bounded = (page_bytes: number, page_entries = 100) =>
    SessionStore.layerMemory.pipe(
      Layer.provide(Layer.succeed(Limits.Limits, Limits.withBounds({ base: { page_bytes, page_entries } })))
    )
  const first = (page_bytes: number, page_entries?: number) =>
    Effect.gen(function*() {
      const store = yield* SessionStore
      const session = yield* store.create
      yield* appendAll(session, [user(run, "é"), user(run, "b"), user(run, "c")])
      return (yield* store.page({ sessionId: session.sessionId })).entries.map((text) => Buffer.byteLength(text))
    }).pipe(Effect.provide(bounded(page_bytes, page_entries)))

  it.effect("SES-5 FRM-13 WIR-45 bytes are those of the array as UTF-8: what fits exactly stays, and one byte less cuts", () =>
    Effect.gen(function*() {
      const [a, b, c] = yield* first(100_000)
      const three = "[".length + a! + ",".length + b! + ",".length + c! + "]".length
      assert.strictEqual((yield* first(three)).length, 3)
      assert.strictEqual((yield* first(three - 1)).length, 2)
      assert.strictEqual((yield* first(three - c! - 2)).length, 1)
      assert.strictEqual((yield* first(three - c! - 1)).length, 2)
      assert.strictEqual((yield* first(1)).length, 1)
      assert.strictEqual((yield* first(100_000, 2)).length, 2)
    }))
})

/** Another process over the same home; it is killed when the scope closes. */
const child = (home: string, args: ReadonlyArray<string>, shell?: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const command = [
        process.execPath,
        "--conditions=@errand/source",
        Path.join(import.meta.dirname, "SessionChild.ts"),
        home,
        ...args
      ]
      const [file, ...rest] = shell === undefined ? command : ["sh", "-c", `${shell}; exec "$@"`, "sh", ...command]
      const one = spawn(file!, rest, { stdio: ["pipe", "pipe", "inherit"] })
      const lines: Array<string> = []
      let tail = ""
      one.stdout.on("data", (chunk: Buffer) => {
        const [...whole] = (tail + chunk.toString()).split("\n")
        tail = whole.pop()!
        lines.push(...whole)
      })
      return { one, lines }
    }),
    ({ one }) => Effect.promise(() => killed(one))
  )

const killed = (one: ChildProcess) =>
  new Promise<void>((resolve) => {
    if (one.exitCode !== null || one.signalCode !== null) return resolve()
    one.once("exit", () => resolve())
    one.kill("SIGKILL")
  })

/** Waits in real time until a process has told something. */
const told = ({ lines, one }: { readonly lines: ReadonlyArray<string>; readonly one: ChildProcess }, start: string) =>
  Effect.promise(async () => {
    while (!lines.some((line) => line.startsWith(start))) {
      if (one.exitCode !== null) throw new Error(`the process ended without telling ${start}: ${lines.join()}`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })

describe("section 4: sessions between processes", () => {
  it.effect(
    "SES-2 SES-12 a living process keeps others from opening but not from reading; killed, its lock is free at once",
    () =>
      Effect.gen(function*() {
        const home = Path.join(yield* folder, "home")
        yield* Effect.gen(function*() {
          const store = yield* SessionStore
          const mine = yield* store.create
          yield* appendAll(mine, [user(run, "x"), ended("r")])
          yield* mine.close
          const other = yield* child(home, ["hold", mine.sessionId])
          yield* told(other, "held 2")
          assert.strictEqual(yield* tagOf(store.open(mine.sessionId)), "SessionLocked")
          assert.strictEqual((yield* entriesOf(mine.sessionId)).length, 2)
          assert.strictEqual((yield* store.list({})).sessions[0]!.entries, 2)
          yield* Effect.promise(() => killed(other.one))
          const session = yield* store.open(mine.sessionId)
          // and what this process does with the files of its own session does not lose its lock
          yield* entriesOf(mine.sessionId)
          assert.strictEqual(yield* tagOf(store.open(mine.sessionId)), "SessionLocked")
          yield* told(yield* child(home, ["hold", mine.sessionId]), "SessionLocked")
          yield* session.close
        }).pipe(Effect.provide(SessionStore.layerSqlite(home)))
      }),
    60_000
  )

  it.effect("SES-2 closing the layer frees its sessions", () =>
    Effect.gen(function*() {
      const home = yield* folder
      const { sessionId } = yield* Effect.provide(
        Effect.flatMap(SessionStore, (store) => store.create),
        SessionStore.layerSqlite(home)
      )
      assert.deepStrictEqual(filesOf(home).map((name) => Path.extname(name)), ["", ".db", ".lock"])
      yield* Effect.provide(
        Effect.flatMap(SessionStore, (store) => store.open(sessionId)),
        SessionStore.layerSqlite(home)
      )
    }))

  it.effect(
    "SES-9 a full disk fails the append and nothing else; with room again appends work, and what was acknowledged is there",
    () =>
      Effect.gen(function*() {
        const home = Path.join(yield* folder, "home")
        const filling = yield* child(home, ["fill"], "ulimit -S -f 2048")
        const { lines, one } = filling
        yield* told(filling, "refused")
        const full = lines.length
        const stored = lines.filter((line) => line.startsWith("stored")).length
        assert.isAbove(stored, 10)
        spawnSync("prlimit", ["--pid", String(one.pid), "--fsize=unlimited"])
        one.stdin.write("go on\n")
        yield* told(filling, `stored ${stored + 3}`)
        assert.deepStrictEqual(lines.slice(full), [1, 2, 3].map((more) => `stored ${stored + more}`))
        yield* Effect.gen(function*() {
          const prompts = (yield* entriesOf(lines[0]!)).filter((entry) => entry["part"] === 1).map((entry) =>
            parseInt(String(entry["text"]))
          )
          assert.deepStrictEqual(prompts, [...Array(stored).keys(), stored + 1, stored + 2, stored + 3])
        }).pipe(Effect.provide(SessionStore.layerSqlite(home)))
      }),
    60_000
  )
})

describe("section 4: files of sessions", () => {
  it.effect("LIF-5 BLT-6 nothing is touched before the first use, and then only the owner can read it", () =>
    Effect.gen(function*() {
      const home = Path.join(yield* folder, "deep", "home")
      yield* Effect.gen(function*() {
        const store = yield* SessionStore
        yield* store.list({})
        yield* tagOf(store.open(NOBODY))
        assert.isFalse(fs.existsSync(Path.dirname(home)))
        const session = yield* store.create
        yield* session.history.append([user(run, "x")])
        const modes = new Map(
          ["", ...filesOf(home)].map((name) => [name, fs.statSync(Path.join(home, name)).mode & 0o777])
        )
        assert.strictEqual(modes.size, 7)
        for (const [name, mode] of modes) assert.strictEqual(mode, name.includes(".") ? 0o600 : 0o700)
        yield* session.close
      }).pipe(Effect.provide(SessionStore.layerSqlite(home)))
    }))

  it.effect("BLT-6 a home that was open to others is closed to them", () =>
    Effect.gen(function*() {
      const home = yield* folder
      fs.chmodSync(home, 0o755)
      yield* Effect.provide(Effect.flatMap(SessionStore, (store) => store.create), SessionStore.layerSqlite(home))
      assert.strictEqual(fs.statSync(home).mode & 0o777, 0o700)
    }))

  it.effect("SES-1 a home that cannot be a directory fails by name, and works once it can", () =>
    Effect.gen(function*() {
      const home = Path.join(yield* folder, "home")
      fs.writeFileSync(home, "in the way")
      yield* Effect.gen(function*() {
        const store = yield* SessionStore
        assert.strictEqual(yield* tagOf(store.create), "StorageFailed")
        assert.strictEqual(yield* tagOf(store.list({})), "StorageFailed")
        fs.rmSync(home)
        yield* store.create
        assert.strictEqual((yield* store.list({})).sessions.length, 1)
      }).pipe(Effect.provide(SessionStore.layerSqlite(home)))
    }))

  /** A home with two sessions of 40 turns; gives the file of the first, which is closed. */
  const two = Effect.gen(function*() {
    const home = yield* folder
    const store = yield* SessionStore.pipe(Effect.provide(SessionStore.layerSqlite(home)))
    const sessions = [yield* store.create, yield* store.create]
    for (const session of sessions) {
      for (let i = 0; i < 40; i++) {
        yield* appendAll(session, [user(root(`r${i}`), `prompt ${i} ${"x".repeat(300)}`), ended(`r${i}`)])
      }
      yield* session.close
    }
    const [first, second] = sessions.map((session) => session.sessionId)
    return { home, first: first!, second: second!, file: databaseOf(home, first!) }
  })

  it.effect(
    "SES-10 a flipped byte is told by the name of its session, or changes nothing; the other session is untouched",
    () =>
      Effect.gen(function*() {
        const { file, first, home, second } = yield* two
        const whole = fs.readFileSync(file)
        const read = (sessionId: string) =>
          Effect.result(Effect.gen(function*() {
            const session = yield* (yield* SessionStore).open(sessionId)
            return { messages: session.history.messages, entries: yield* entriesOf(sessionId) }
          })).pipe(Effect.provide(SessionStore.layerSqlite(home)))
        const healthy = yield* read(first)
        assert.strictEqual(healthy._tag, "Success")
        let told = 0
        for (let at = 16; at < whole.length; at += 797) {
          const damaged = Buffer.from(whole)
          damaged[at]! ^= 0x41
          for (const end of ["", "-wal", "-shm"]) fs.rmSync(file + end, { force: true })
          fs.writeFileSync(file, damaged)
          const found = yield* read(first)
          if (found._tag === "Success") assert.deepStrictEqual(found, healthy)
          else {
            told++
            assert.strictEqual(found.failure._tag, "StorageFailed")
            assert.include((found.failure as StorageFailed).message, `session ${first}`)
            assert.strictEqual((yield* read(second))._tag, "Success")
          }
          const list = yield* Effect.flatMap(SessionStore, (store) => store.list({})).pipe(
            Effect.provide(SessionStore.layerSqlite(home))
          )
          assert.deepStrictEqual(list.sessions.map((one) => one.session_id), [second, first])
        }
        assert.isAbove(told, 15)
      }),
    60_000
  )

  it.effect(
    "SES-10 a flipped byte in the log that a crash left is told, or costs no more than its newest commits; a cut costs what it cuts",
    () =>
      Effect.gen(function*() {
        const home = yield* folder
        const crashed = yield* folder
        const kept = yield* Effect.gen(function*() {
          const session = yield* (yield* SessionStore).create
          for (let i = 0; i < 12; i++) {
            yield* session.history.append([user(root(`r${i}`), `prompt ${i}`), ended(`r${i}`)])
          }
          // as a kill would leave it
          const file = databaseOf(home, session.sessionId)
          return {
            sessionId: session.sessionId,
            file,
            data: fs.readFileSync(file),
            log: fs.readFileSync(`${file}-wal`)
          }
        }).pipe(Effect.provide(SessionStore.layerSqlite(home)))
        const { data, log, sessionId } = kept
        const file = Path.join(crashed, Path.relative(home, kept.file))
        const reopened = (log: Buffer) =>
          Effect.gen(function*() {
            yield* Effect.sync(() => {
              fs.rmSync(Path.dirname(file), { recursive: true, force: true })
              fs.mkdirSync(Path.dirname(file), { recursive: true })
              fs.writeFileSync(file, data)
              fs.writeFileSync(`${file}-wal`, log)
            })
            const store = yield* SessionStore
            const paged = yield* Effect.result(store.page({ sessionId }))
            const opened = yield* Effect.result(store.open(sessionId))
            assert.strictEqual(paged._tag, opened._tag)
            if (opened._tag === "Success") return Number(opened.success.history.revision())
            assert.include((opened.failure as StorageFailed).message, `session ${sessionId} is damaged`)
            return null
          }).pipe(Effect.provide(SessionStore.layerSqlite(crashed)))
        assert.strictEqual(yield* reopened(log), 24)
        let told = 0
        const frames = Math.floor((log.length - 32) / 4120)
        const places = [
          ...Array(32).keys(),
          ...Array.from({ length: frames * 4 }, (_, i) => 32 + (i >> 2) * 4120 + [3, 9, 17, 2000][i & 3]!)
        ]
        for (const at of places) {
          const damaged = Buffer.from(log)
          damaged[at]! ^= 0x41
          const revision = yield* reopened(damaged)
          if (revision === null) told++
          else assert.isAtLeast(revision, 20)
        }
        assert.isAbove(told, places.length * 0.7)
        for (const size of [0, 31, 33, 32 + 4120 * 3 + 5, log.length - 1]) {
          const revision = yield* reopened(log.subarray(0, size))
          assert.isNotNull(revision)
          assert.isBelow(revision!, 24)
        }
      }),
    60_000
  )

  it.effect("SES-10 what SQLite leaves in a log that it began anew is no damage", () =>
    Effect.gen(function*() {
      const home = yield* folder
      yield* Effect.gen(function*() {
        const session = yield* (yield* SessionStore).create
        const log = `${databaseOf(home, session.sessionId)}-wal`
        const sizes = new Set<number>()
        for (let i = 0; i < 200; i++) {
          yield* session.history.append([user(root(`r${i}`), "x".repeat(i % 7 === 0 ? 100_000 : 5000)), ended(`r${i}`)])
          const bytes = fs.readFileSync(log)
          sizes.add(bytes.length)
          assert.isFalse(WriteAheadLog.isDamaged(bytes), `after ${i + 1} commits`)
        }
        // it grew to its bound and was used again from the start
        assert.isBelow(sizes.size, 150)
      }).pipe(Effect.provide(SessionStore.layerSqlite(home)))
    }), 60_000)

  it.effect("SES-10 a file that was cut short is told by the name of its session", () =>
    Effect.gen(function*() {
      const { file, first, home } = yield* two
      const whole = fs.readFileSync(file)
      for (const size of [0, 1, 100, 4095, 4096, whole.length >> 1, whole.length - 4096, whole.length - 1]) {
        fs.writeFileSync(file, whole.subarray(0, size))
        const error = yield* Effect.flatMap(SessionStore, (store) => store.open(first)).pipe(
          Effect.flip,
          Effect.provide(SessionStore.layerSqlite(home))
        )
        assert.strictEqual(error._tag, "StorageFailed")
        assert.match((error as StorageFailed).message, new RegExp(`session ${first} is damaged`))
      }
    }), 60_000)

  it.effect("SES-10 a file under the name of another session is told", () =>
    Effect.gen(function*() {
      const { file, first, home, second } = yield* two
      fs.copyFileSync(databaseOf(home, second), file)
      const error = yield* Effect.flatMap(SessionStore, (store) => store.open(first)).pipe(
        Effect.flip,
        Effect.provide(SessionStore.layerSqlite(home))
      )
      assert.include((error as StorageFailed).message, `the file is that of session ${second}`)
    }))

  it.effect("SES-10 a session of a later version is refused by name and left as it is", () =>
    Effect.gen(function*() {
      const { file, first, home } = yield* two
      const { DatabaseSync } = yield* Effect.promise(() => import("node:sqlite"))
      const db = new DatabaseSync(file)
      db.exec("PRAGMA user_version = 2")
      db.close()
      const before = fs.readFileSync(file)
      yield* Effect.gen(function*() {
        const store = yield* SessionStore
        for (const use of [store.open(first), store.page({ sessionId: first })]) {
          const error = yield* Effect.flip<unknown, { readonly _tag: string }, never>(use)
          assert.include(
            (error as StorageFailed).message,
            `session ${first} could not be stored or read: its format 2 is newer`
          )
        }
      }).pipe(Effect.provide(SessionStore.layerSqlite(home)))
      assert.deepStrictEqual(fs.readFileSync(file), before)
    }))

  it.effect("SES-1 an id that is no UUID makes no file", () =>
    Effect.gen(function*() {
      const home = yield* folder
      const exit = yield* Effect.exit(Effect.flatMap(SessionStore, (store) => store.create)).pipe(
        Effect.provide(SessionStore.layerSqlite(home)),
        Effect.provideService(Ids.Generator, () => "../x")
      )
      assert.strictEqual(exit._tag, "Failure")
      assert.deepStrictEqual(filesOf(home), [])
    }))

  it.effect("SES-1 what is left of a creation that crashed is no session", () =>
    Effect.gen(function*() {
      const { file, home } = yield* two
      fs.copyFileSync(file, `${file}.new`)
      const list = yield* Effect.flatMap(SessionStore, (store) => store.list({})).pipe(
        Effect.provide(SessionStore.layerSqlite(home))
      )
      assert.strictEqual(list.sessions.length, 2)
    }))
})
