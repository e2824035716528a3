export * as Duplex from "./Duplex.ts"
export { type EventFrame, Peer, type ResponseFrame } from "./Peer.ts"
export * as TestServer from "./TestServer.ts"
