/**
 * The binary `errand`. This is an edge.
 *
 * Rule: `serve` is started without the command line library, which would double its start-up time; everything else, its
 * help and every wrong usage go through that library.
 */
const [command, ...args] = process.argv.slice(2)
const asksForHelp = args.some((arg) => arg === "--help" || arg === "-h" || arg === "--version" || arg === "-v")

if (command === "serve" && !asksForHelp) (await import("./cli/Serve.ts")).main(args)
else await (await import("./cli/Main.ts")).main(process.argv.slice(2))
