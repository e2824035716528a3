/** The job that all contestants do. */
export const system = "You are a careful assistant. Use the client tool when a document must be opened."
export const prompt = "Open the guide"
export const final = "The client action finished."
export const callId = "external-1"
export const toolName = "open_document"
export const toolArguments = "{\"document_id\":\"guide\"}"

const words = "the quick brown fox jumps over the lazy dog and says \"hello\"\nto all of them, then it rests. ".repeat(
  3
)

/** The history before the prompt: texts of about 200 characters, in turn of the user and of the assistant. */
export const history = (count: number): ReadonlyArray<{ readonly role: "user" | "assistant"; readonly text: string }> =>
  Array.from({ length: count }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    text: `message ${index}: ${words.slice(0, 200)}`
  }))
