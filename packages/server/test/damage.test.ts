/** What a served process says when the disk under its sessions is full, closed, gone or not what was written. */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as Path from "node:path"
import { type AnyFrame, binary, Place, Served } from "./ServeRig.ts"

const turn = async (served: Served, session_id: string, id: string, prompt: string): Promise<AnyFrame> => {
  const started = await served.ask(id, "turn.start", { session_id, prompt })
  if (started.error !== undefined) return started
  return served.next((frame) => frame.event === "run.finished" && frame.data.run_id === started.result.run_id)
}

const ready = (served: Served) => served.ask("init", "initialize", { required_capabilities: [] })

let asked = 0
/** All entries of a session; what refuses them instead. */
const entriesOf = async (served: Served, session_id: string): Promise<Array<AnyFrame>> => {
  const entries: Array<AnyFrame> = []
  for (let from = {};;) {
    const { error, result } = await served.ask(`page${++asked}`, "history.page", { session_id, ...from })
    if (error !== undefined) throw error
    entries.push(...result.entries)
    if (result.next_cursor === null) return entries
    from = { revision: result.revision, cursor: result.next_cursor }
  }
}

describe("section 4: a disk that refuses", { timeout: 60_000 }, () => {
  it("SES-9 TRN-7 a full disk fails runs with storage_failed; with room again they work, and nothing told is lost", async () => {
    using place = new Place()
    using served = new Served(place, { shell: "trap '' XFSZ; ulimit -S -f 1024" })
    const session_id = await served.session()
    const done: Array<string> = []
    const prompt = (n: number) => `${n} ${"x".repeat(30_000)}`
    let n = 0
    for (;; n++) {
      const { data } = await turn(served, session_id, `full${n}`, prompt(n))
      if (data.status !== "completed") {
        assert.deepStrictEqual([data.status, data.error.code], ["failed", "storage_failed"])
        assert.include(data.error.message, session_id)
        break
      }
      done.push(prompt(n))
    }
    assert.isAbove(n, 3)
    assert.strictEqual((await served.ask("s", "status")).result.state, "ready")
    assert.strictEqual((await turn(served, session_id, "still", prompt(n + 1))).data.error.code, "storage_failed")
    spawnSync("prlimit", ["--pid", String(served.child.pid), "--fsize=unlimited"])
    assert.strictEqual((await turn(served, session_id, "again", prompt(n + 2))).data.status, "completed")
    served.child.kill("SIGKILL")
    await served.exited
    using next = new Served(place)
    await ready(next)
    assert.isUndefined((await next.ask("open", "session.open", { session_id })).error)
    const texts = (await entriesOf(next, session_id)).map((entry) => entry.kind === "user" ? entry.text : "").join("")
    for (const one of [...done, prompt(n + 2)]) assert.include(texts, one)
  })

  it("SES-1 a home that cannot be made is told by every request that needs it, and by no other", async () => {
    using place = new Place()
    using served = new Served(place, { home: "/sys/errand" })
    await ready(served)
    for (const id of ["first", "second"]) {
      const { error } = await served.ask(id, "session.create")
      assert.strictEqual(error.code, "storage_failed")
      assert.match(error.message, /could not be stored or read/)
    }
    assert.strictEqual((await served.ask("status", "status")).result.state, "ready")
    served.child.stdin!.end()
    assert.strictEqual((await served.exited).code, 0)
  })

  it("LIF-5 PGM-1 a home that is no folder is told at initialize, and is left as it is", async () => {
    using place = new Place()
    const file = Path.join(place.path, "file")
    fs.writeFileSync(file, "in the way")
    for (const home of [file, Path.join(file, "home")]) {
      using served = new Served(place, { home })
      const { error } = await ready(served)
      assert.strictEqual(error.code, "configuration_invalid")
      assert.include(error.message, home)
    }
    assert.strictEqual(fs.readFileSync(file, "utf8"), "in the way")
  })

  // the superuser may write everywhere, so there it runs as somebody else
  const uid = process.getuid?.() === 0 ? 65_534 : undefined
  const runs = uid === undefined || spawnSync(process.execPath, [binary, "--version"], { uid }).status === 0
  it.skipIf(!runs)(
    "SES-9 SES-12 a folder of sessions that cannot be written or read is told, and nothing in it changes",
    async () => {
      using place = new Place()
      if (uid !== undefined) fs.chownSync(place.path, uid, uid)
      const options = uid === undefined ? {} : { uid }
      const folder = Path.join(place.home, "sessions")
      let session_id: string
      {
        using served = new Served(place, options)
        session_id = await served.session()
        assert.strictEqual((await turn(served, session_id, "a", "kept")).data.status, "completed")
        served.child.stdin!.end()
        await served.exited
      }
      for (const mode of [0o500, 0o000]) {
        fs.chmodSync(folder, mode)
        using served = new Served(place, options)
        await ready(served)
        for (const method of ["session.open", "history.page"]) {
          const { error } = await served.ask(`${method}${mode}`, method, { session_id })
          assert.strictEqual(error.code, "storage_failed")
          assert.match(error.message, mode === 0 ? /the list of sessions.*permission denied/ : new RegExp(session_id))
        }
        assert.strictEqual((await served.ask("status", "status")).result.state, "ready")
      }
      fs.chmodSync(folder, 0o700)
      using served = new Served(place, options)
      await ready(served)
      assert.isUndefined((await served.ask("o", "session.open", { session_id })).error)
      assert.strictEqual((await entriesOf(served, session_id)).length, 3)
    }
  )

  it("SES-9 a home that is removed under an open session fails its runs, and a new session makes it again", async () => {
    using place = new Place()
    using served = new Served(place)
    const session_id = await served.session()
    assert.strictEqual((await turn(served, session_id, "a", "kept?")).data.status, "completed")
    fs.rmSync(place.home, { recursive: true })
    const { data } = await turn(served, session_id, "b", "lost?")
    assert.strictEqual(data.error?.code, "storage_failed")
    const fresh = (await served.ask("create2", "session.create")).result.session_id
    assert.strictEqual((await turn(served, fresh, "c", "kept")).data.status, "completed")
    assert.strictEqual((await entriesOf(served, fresh)).length, 3)
  })
})

describe("section 4: files that changed", { timeout: 120_000 }, () => {
  it("SES-10 whatever file of a session is damaged, cut or gone: it is told by name or made good, and the others work", async () => {
    using place = new Place()
    const folder = Path.join(place.home, "sessions")
    const made: Array<string> = []
    {
      using served = new Served(place)
      await ready(served)
      for (const [s, turns] of [2, 8].entries()) {
        const session_id = (await served.ask(`create${s}`, "session.create")).result.session_id
        made.push(session_id)
        for (let n = 0; n < turns; n++) await turn(served, session_id, `t${s}.${n}`, `prompt ${n} ${"x".repeat(3000)}`)
      }
      // what was stored so far goes from the log into the file
      await served.ask("away", "session.open", { session_id: made[0] })
      await served.ask("back", "session.open", { session_id: made[1] })
      for (let n = 8; n < 12; n++) await turn(served, made[1]!, `u${n}`, `prompt ${n}`)
      served.child.kill("SIGKILL")
      await served.exited
    }
    const saved = new Map(fs.readdirSync(folder).map((name) => [name, fs.readFileSync(Path.join(folder, name))]))
    const [other, first] = made as [string, string]
    const mine = [...saved.keys()].filter((name) => name.includes(first))
    assert.deepStrictEqual(mine.map((name) => name.split(".")[1]).sort(), ["db", "db-shm", "db-wal", "lock", "mark"])
    using served = new Served(place)
    await ready(served)
    const healthy = await entriesOf(served, first)
    assert.strictEqual(healthy.length, 36)

    const damages: Record<string, (bytes: Buffer) => Buffer | null> = {
      gone: () => null,
      empty: () => Buffer.alloc(0),
      half: (bytes) => bytes.subarray(0, bytes.length >> 1),
      "one byte short": (bytes) => bytes.subarray(0, -1),
      "bytes behind it": (bytes) => Buffer.concat([bytes, Buffer.from("more")]),
      ...Object.fromEntries([0, 0.1, 0.3, 0.5, 0.7, 0.9].map((part) => [`flipped at ${part}`, (bytes: Buffer) => {
        const changed = Buffer.from(bytes)
        if (changed.length > 0) changed[Math.floor(changed.length * part)]! ^= 0x41
        return changed
      }]))
    }
    const seen = { told: 0, good: 0 }
    for (const name of mine) {
      for (const [what, damage] of Object.entries(damages)) {
        const where = `${name.split(".")[1]} ${what}`
        const id = `${where.replaceAll(" ", "_")}`
        await served.ask(`${id}_away`, "session.create")
        fs.rmSync(folder, { recursive: true })
        fs.mkdirSync(folder, { mode: 0o700 })
        for (const [file, bytes] of saved) fs.writeFileSync(Path.join(folder, file), bytes)
        const bytes = damage(saved.get(name)!)
        if (bytes === null) fs.rmSync(Path.join(folder, name))
        else fs.writeFileSync(Path.join(folder, name), bytes)

        const opened = await served.ask(id, "session.open", { session_id: first })
        // opening reads what the model sees, a page reads what people see
        const entries = opened.error ?? await entriesOf(served, first).catch((error) => error)
        if (Array.isArray(entries)) {
          seen.good++
          assert.deepStrictEqual(entries, healthy, where)
          assert.strictEqual((await turn(served, first, `${id}_turn`, "go on")).data.status, "completed", where)
        } else if (where === "db gone") assert.strictEqual(entries.code, "session_not_found")
        else {
          seen.told++
          assert.strictEqual(entries.code, "storage_failed", where)
          assert.include(entries.message, `session ${first} is damaged`, where)
          assert.isFalse(/lock|shm|mark/.test(where), `${where}: nothing is kept there`)
          // and it stays told: the first look has not made it look whole
          const again = await served.ask(`${id}_again`, "session.open", { session_id: first })
          if (opened.error !== undefined) assert.strictEqual(again.error?.code, "storage_failed", where)
        }
        assert.isUndefined((await served.ask(`${id}_other`, "session.open", { session_id: other })).error, where)
        assert.strictEqual((await turn(served, other, `${id}_o`, "hello")).data.status, "completed", where)
      }
    }
    assert.isAbove(seen.told, 8)
    assert.isAbove(seen.good, 15)
  })
})
