/** What many turns cost one process, what it does when its request ids are used up, and when nobody reads. */
import { assert, describe, it } from "@effect/vitest"
import { CALLS, Endurance, endure } from "./Endurance.ts"
import { Place, Served } from "./ServeRig.ts"

describe("sections 2 and 9: many turns in one process", { timeout: 120_000 }, () => {
  it("CAL-5 SES-8 turns of sixteen parallel calls lose no slot and leave nothing in memory but open sessions", async () => {
    const kept = await endure(6, 20)
    assert.isBelow(kept.closed, 2 ** 20)
    // sixteen calls with their arguments and results, as the model must see them again
    assert.isBelow(kept.perTurn, 32 * 1024)
  })

  it("REQ-4 RES-8 LIF-9 used-up request ids are refused, what runs goes on, and the end of input closes", async () => {
    using endurance = new Endurance(300)
    const { served } = endurance
    await endurance.initialize()
    const id = await endurance.session()
    for (let turn = 0; turn < 200; turn++) await endurance.smooth(id)
    const left = (await endurance.ask("status")).result.request_ids_left
    assert.strictEqual(left, 4096 - 3 - 200 * (CALLS + 1))
    let last = await endurance.turn(id)
    for (let turn = 0; last.event === "run.finished"; turn++) {
      const refused = served.frames.filter((frame) => frame.error?.code === "request_quota_exceeded").length
      // a result that finds no id leaves its call to the deadline; the run goes on without it
      assert.strictEqual(last.data.status, "completed")
      if (refused > 0) {
        assert.strictEqual(served.frames.filter((frame) => frame.event === "client.tool.cancel").length, refused)
      }
      last = await endurance.turn(id)
      assert.isBelow(turn, 60)
    }
    assert.strictEqual(last.error.code, "request_quota_exceeded")
    assert.strictEqual((await endurance.ask("shutdown")).error.code, "request_quota_exceeded")
    served.child.stdin!.end()
    assert.deepStrictEqual(await served.exited, { code: 0, signal: null })
    assert.deepStrictEqual(served.frames.at(-1).data, { reason: "input_closed" })
  })
})

describe("section 6: a client that stops reading", { timeout: 60_000 }, () => {
  const text = "long ".repeat(400_000)

  it("OUT-2 faults G5 for a second: everything comes when it reads again", async ({ skip }) => {
    using place = new Place()
    using served = new Served(place, { root: [{ text }] })
    const session_id = await served.session()
    served.send({ id: "t", method: "turn.start", params: { session_id, prompt: "go" } })
    served.child.stdout!.pause()
    const since = performance.now()
    await new Promise((done) => setTimeout(done, 1000))
    if (performance.now() - since > 1500) skip("this machine was too busy to stop reading for one second")
    served.child.stdout!.resume()
    await served.next((frame) => frame.event === "run.finished")
    const told = served.frames.filter((frame) => frame.event === "message.reconcile").map((frame) => frame.data.text)
    assert.isTrue(told.join("") === text)
  })

  it("OUT-2 CLS-4 faults G5 for three seconds: it is closed with output_stalled, and its session is free", async () => {
    using place = new Place()
    using served = new Served(place, { root: [{ text }] })
    const session_id = await served.session()
    served.send({ id: "t", method: "turn.start", params: { session_id, prompt: "go" } })
    served.child.stdout!.pause()
    const since = performance.now()
    const code = await new Promise((done) => served.child.once("exit", done))
    assert.strictEqual(code, 74)
    assert.isAbove(performance.now() - since, 1900)
    using next = new Served(place)
    await next.ask("i", "initialize", { required_capabilities: [] })
    assert.isUndefined((await next.ask("o", "session.open", { session_id })).error)
  })
})
