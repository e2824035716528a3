/**
 * What processes that the server starts may see of its environment (BLT-6).
 *
 * Rule: no provider key and no setting of Errand is inherited, whatever the case of its name.
 */

const HIDDEN = /(?:^ERRAND_|_API_KEY$|^ANTHROPIC_AUTH_TOKEN$)/i

/** The environment for commands, hooks and MCP servers. */
export const inherited = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !HIDDEN.test(name)))
