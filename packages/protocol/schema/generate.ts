/** Writes `protocol.schema.json` beside this file; run by `npm run schema` at the root of the repository. */
import { JsonSchema } from "@errand/protocol"
import { writeFileSync } from "node:fs"

writeFileSync(new URL("protocol.schema.json", import.meta.url), JsonSchema.text())
