/**
 * `errand demo`: the main job in one terminal (PGM-2).
 *
 * Rule: nothing is played: a server in its own process, real pipes, real deadlines; only the model reads a script. This is
 * an edge: it makes a directory and draws on stdout.
 */
import { make as makeClient } from "@errand/client"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as DemoFacts from "./DemoFacts.ts"
import * as DemoTools from "./DemoTools.ts"
import * as ExitCode from "./ExitCode.ts"
import { ink, type Line } from "./Ink.ts"
import { err } from "./Process.ts"
import * as Screen from "./Screen.ts"
import { spawnAlone } from "./ServerProcess.ts"
import * as Story from "./Story.ts"

/** How often a terminal is drawn, and how often a stream of lines says what waits. */
const everyMs = { live: 100, plain: 500 }

/** How long the call of the second turn waits before the turn is cancelled. */
const cancelAfterMs = 900

const temporaryHome = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "errand-demo-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

const title: ReadonlyArray<Line> = [
  [ink("bold", "errand demo")],
  [ink("dim", "A server in a process of its own, a scripted model, no network. The tools run in this process.")]
]

/** The story on the screen: takes what happens, draws, and remembers what was shown. */
const stage = Effect.fnUntraced(function*(screen: Screen.Screen) {
  const clock = yield* Clock.Clock
  let story = Story.empty
  const facts = new Set<DemoFacts.Fact>()
  const draw = (lines: ReadonlyArray<Line>) =>
    Effect.suspend(() => screen.draw(lines, Story.live(story, clock.currentTimeMillisUnsafe(), screen.columns())))
  const take = (happening: Story.Happening): ReadonlyArray<Line> => {
    const fact = DemoFacts.shown(story, happening, facts)
    if (fact !== undefined) facts.add(fact)
    const next = Story.step(story, happening, clock.currentTimeMillisUnsafe())
    story = next.story
    return next.lines
  }
  const tick = Effect.suspend(() => {
    const line = screen.live ? undefined : Story.waiting(story, clock.currentTimeMillisUnsafe())
    return draw(line === undefined ? [] : [line])
  })
  yield* Effect.forkScoped(Effect.repeat(tick, Schedule.spaced(screen.live ? everyMs.live : everyMs.plain)))
  return { draw, take, tell: (happening: Story.Happening) => Effect.suspend(() => draw(take(happening))), facts }
})

const tour = Effect.gen(function*() {
  const screen = yield* Screen.make(process.stdout, process.env)
  const { draw, facts, take, tell } = yield* stage(screen)
  const home = yield* temporaryHome
  yield* draw(title)

  const client = yield* makeClient({
    server: spawnAlone({ model: "script:demo", home, workspace: home }),
    tools: DemoTools.told(
      (call, answer) => take({ _tag: "HandlerAnswered", call, answer }),
      (call) => take({ _tag: "HandlerStopped", call })
    )
  })
  const session = yield* client.createSession
  const turn = (prompt: string, also: (event: Story.Happening) => Effect.Effect<unknown> = () => Effect.void) =>
    Effect.andThen(
      tell({ _tag: "Asked", prompt }),
      Stream.runForEach(session.turn(prompt), (event) => Effect.andThen(tell(event), also(event)))
    )

  yield* turn("Give me the tour.")

  const waits = yield* Deferred.make<void>()
  yield* turn(
    "Export it again.",
    (event) => event._tag === "ToolCalled" ? Deferred.succeed(waits, undefined) : Effect.void
  ).pipe(
    Effect.raceFirst(Effect.andThen(
      Deferred.await(waits),
      Effect.delay(tell({ _tag: "Cancelling" }), cancelAfterMs)
    ))
  )
  const runs = yield* Stream.runCollect(Stream.filter(session.history, ({ kind }) => kind === "run"))
  const last = runs.at(-1)
  yield* tell({ _tag: "TurnCancelled", status: last?.kind === "run" ? last.status : "not ended" })

  yield* turn("Are you still there?")

  yield* client.shutdown
  const lost = yield* client.lost
  if (lost._tag === "ServerExited" && lost.code === 0) facts.add("clean")
  yield* draw([[], ...DemoFacts.lines(facts), []])
  return DemoFacts.complete(facts) ? ExitCode.DONE : ExitCode.FAILED
})

/** Shows everything and ends with 0, or with 1 when something was not shown. */
export const demo: Effect.Effect<number> = Effect.scoped(tour).pipe(
  Effect.catch((error) => Effect.as(err(`errand demo: ${error.message}\n`), ExitCode.FAILED))
)
