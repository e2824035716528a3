export * from "./History.ts"
export * from "./ModelTurn.ts"
export * from "./ToolExecutor.ts"
