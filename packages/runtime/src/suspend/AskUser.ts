/**
 * The ready client tool `ask_user`: the model asks a person up to four questions with options.
 *
 * Rule: an answer is accepted only when it fits the questions that were asked; a person who declines is a failure with
 * a message, never an empty answer.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { argumentsDecoder, type ClientTool, make, withSuccessCheck } from "./Declaration.ts"
import { type Fault, formatPath } from "./JsonValue.ts"
import * as Results from "./Results.ts"

/** Characters are code points, as in the JSON Schema that is derived (HRN-D1). */
const text = (maxLength: number, description: string) =>
  Schema.String.check(Schema.isPattern(/\S/u), Schema.isMaxCodePoints(maxLength)).annotate({ description })

/** What a person or a program tells apart by a text needs a text of its own. */
const apart = <Key extends string>(key: Key) =>
  Schema.makeFilter((items: ReadonlyArray<{ readonly [Name in Key]: string }>) =>
    new Set(items.map((item) => item[key])).size === items.length || `Expected each to have a ${key} of its own`
  )

/** One choice; `description` says what it means. */
export const Option = Schema.Struct({
  label: text(80, "What the person picks, a few words; unique within the question."),
  description: Schema.optionalKey(text(400, "What the choice means or leads to."))
})

/** One question: a short header, the question, two to four options, one or several of which may be picked. */
export const Question = Schema.Struct({
  header: text(24, "A short title, unique among the questions."),
  question: text(1000, "The whole question, ending in a question mark."),
  options: Schema.Array(Option).check(Schema.isMinLength(2), Schema.isMaxLength(4), apart("label")),
  multi_select: Schema.optionalKey(Schema.Boolean.annotate({ description: "Whether several options may be picked." }))
})
export type Question = typeof Question.Type

/** What the model asks: one to four questions. */
export const Arguments = Schema.Struct({
  questions: Schema.Array(Question).check(Schema.isMinLength(1), Schema.isMaxLength(4), apart("header"))
})
export type Arguments = typeof Arguments.Type

/** The answer to one question: labels of options, a text of the person's own, or both; never neither. */
export const Answer = Schema.Struct({
  header: Schema.String,
  selected: Schema.Array(Schema.String),
  text: Schema.optionalKey(Schema.String.check(Schema.isMaxCodePoints(16_384)))
})
export type Answer = typeof Answer.Type

/** What the person answers: one answer per question, in the order of the questions. */
export const Success = Schema.Struct({ answers: Schema.Array(Answer) })
export type Success = typeof Success.Type

const checkAnswer = (question: Question, answer: Answer, path: string): Fault | null => {
  if (answer.header !== question.header) return { path: `${path}.header`, rule: "must be the header of the question" }
  const labels = new Set(question.options.map((option) => option.label))
  const strange = answer.selected.findIndex((label) => !labels.has(label))
  if (strange >= 0) return { path: formatPath(path, ["selected", strange]), rule: "must be the label of an option" }
  if (new Set(answer.selected).size < answer.selected.length) {
    return { path: `${path}.selected`, rule: "must hold no label twice" }
  }
  if (answer.selected.length > 1 && question.multi_select !== true) {
    return { path: `${path}.selected`, rule: "must hold one label, since the question allows no more" }
  }
  return answer.selected.length === 0 && (answer.text ?? "").trim() === ""
    ? { path, rule: "must hold a selected option or a text" }
    : null
}

/** What is wrong with answers to questions, or null. */
export const check = (asked: Arguments, given: Success): Fault | null => {
  if (given.answers.length !== asked.questions.length) {
    return { path: "value.answers", rule: `must hold ${asked.questions.length} answers, one per question` }
  }
  for (const [index, answer] of given.answers.entries()) {
    const fault = checkAnswer(asked.questions[index]!, answer, formatPath("value", ["answers", index]))
    if (fault !== null) return fault
  }
  return null
}

const declared = Result.getOrThrow(make({
  name: "ask_user",
  description:
    "Asks the person one to four questions and waits for the answers. Each question has a short header and two " +
    "to four options; the person may also answer in words of their own, or decline.",
  instruction:
    "Use ask_user only when you cannot go on without a decision of the person; ask all that is open at once.",
  retrySafe: true,
  parameters: Arguments,
  success: Success
}))

const decodeArguments = argumentsDecoder(Arguments)

/** The tool; its answers are checked against the questions whoever gives them. */
export const tool: ClientTool<Arguments, Success, unknown, "ask_user"> = withSuccessCheck(
  declared,
  (value, argumentsText) =>
    Result.match(decodeArguments(argumentsText), {
      onFailure: (fault) => fault,
      onSuccess: (asked) => check(asked, value as Success)
    })
)

/** The answers of a person to a pending `ask_user` request, checked. */
export const answer = (
  request: { readonly argumentsText: string },
  answers: ReadonlyArray<Answer>
): Result.Result<Results.Answer, Fault> => {
  const value = { answers }
  const fault = tool.checkSuccess(value, request.argumentsText)
  return fault === null ? Result.succeed({ status: "success", value }) : Result.fail(fault)
}

const declined = "The person declined to answer."

/** The person declined: a failure that the model reads, in the person's words if there are any. */
export const decline = (message = declined): Results.Answer =>
  Results.failure(message.trim() === "" ? declined : message)
