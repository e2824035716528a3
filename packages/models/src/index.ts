export * as Script from "./Script.ts"
export * as ScriptedModel from "./ScriptedModel.ts"
export * as Template from "./Template.ts"
