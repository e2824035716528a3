/**
 * What messages of ours may repeat of what others sent: no secret and no payload (REQ-5).
 *
 * Rule: what is quoted is protected first and cut second, so that no secret is halved and overlooked. Only `protocol`, which
 * knows no secrets, cuts the keys in its paths itself.
 */
import { clip, clipMessage, type WireError } from "@errand/protocol"
import { protectText } from "./Redaction.ts"
import { marker } from "./SecretMarker.ts"

/** The most characters that are quoted of a key or a name (WIR-3). */
const QUOTED_CHARACTERS = 64

/** A key, name or file name of others as it may stand in a message. */
export const quoted = (text: string, most = QUOTED_CHARACTERS): string => clip(protectText(text), most)

/** What others said, a provider or a system, as a message of ours. */
export const message = (text: string): string => clipMessage(protectText(text))

// A cut key may end before what tells that it is a secret, as the `@` behind a password does.
const cutSecret = /(?:\/\/|eyJ|gh[po]_|github_pat_|glpat-|AKIA|AIza|sk-|xox[a-z]-)\S*…/g

/** A path whose keys were cut, as it may stand in a message. */
export const place = (path: string): string => protectText(path.replace(cutSecret, `${marker}…`))

/** An error of the protocol as it may be told. */
export const told = (error: WireError): WireError => error.withPlace(place)
