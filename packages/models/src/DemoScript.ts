/**
 * The script behind `script:demo` and `errand demo` (MDL-2, PGM-2).
 *
 * Rule: it is a script file like any other and is read through `Script.decode`.
 *
 * It expects a client with these tools:
 *
 * - `client__lookup_record` `{record_id}`: finds a record; of `ledger` it answers a structured integer beyond 2^53
 * - `client__render_report` `{title, record_ids}`: answers, best after the lookup that runs beside it
 * - `client__delete_record` `{record_id}`: answers an error
 * - `client__slow_export` `{format}`, `timeout_ms` 1500: never answers
 */

/** Three turns: the whole tour; one to be cancelled while its call waits; one that shows that the session goes on. */
export const text = `{
  "format": "errand.script",
  "version": 1,
  "root": [
    {
      "deltas": ["I look up the record ", "and render the report ", "at the same time."],
      "tool_calls": [
        {"id": "lookup", "name": "client__lookup_record", "arguments": {"record_id": "R-7"}},
        {"id": "report", "name": "client__render_report", "arguments": {"title": "Quarter", "record_ids": ["R-7", "R-8"]}}
      ]
    },
    {
      "text": "Both are here, in the order I asked for them. The ledger holds a number that no double can hold:",
      "tool_calls": [{"id": "ledger", "name": "client__lookup_record", "arguments": {"record_id": "ledger"}}]
    },
    {
      "text": "Not a digit is lost: {{results}} Now something that you may refuse.",
      "tool_calls": [{"id": "delete", "name": "client__delete_record", "arguments": {"record_id": "R-7"}}]
    },
    {
      "text": "Refused, and I go on. The export has a second and a half to answer.",
      "tool_calls": [{"id": "export", "name": "client__slow_export", "arguments": {"format": "csv"}}]
    },
    {
      "deltas": ["It did not, ", "and it may have run all the same. ", "What I was told: {{results}}"]
    },

    {
      "text": "I start the export again. Cancel me while it waits.",
      "tool_calls": [{"id": "again", "name": "client__slow_export", "arguments": {"format": "pdf"}}]
    },

    {
      "text": "The session goes on after a cancelled turn. Goodbye."
    }
  ]
}`
