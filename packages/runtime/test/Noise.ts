/** Texts made of what secrets, escapes and control sequences are made of. */
import { Arbitrary, Schema } from "effect"

const pieces = [
  ..."aZ0=: \t\n\\\"'`.,;&<>()[]{}@/?#_-ntré",
  ..."password,pass,word,secret,token,api,key,private,page,next,cookie,Authorization: ,Bearer ,basic\t,sk-,ghp_,glpat-"
    .split(","),
  ..."github_pat_,AKIA,xoxb-,AIza,eyJhbGciOiJI,eyJ,://,http://a:b@,[redacted],-----BEGIN ,-----BEGIN PRIVATE KEY-----"
    .split(","),
  ..."-----END PRIVATE KEY-----,0123456789ABCDEF,abcdefghijklmnopqrstuvwxyz,hunter2-Q,\u001b[0m,\u001b]0;,\u001b,\u0007,\u0000"
    .split(","),
  "YTpi",
  "abc.def",
  "abcdefghijklmnop",
  "\u009b",
  "\u202e",
  "\ud83d",
  "\ud83d\ude00",
  "\u212a"
]
/** Up to 14 such pieces in a row. */
export const Noise = Arbitrary.map(
  Arbitrary.array(Arbitrary.schema(Schema.Literals(pieces)), { maxLength: 14 }),
  (all) => all.join("")
)
