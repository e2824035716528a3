/**
 * The binary `errand`. This is an edge.
 *
 * Rule: `serve` is started without the command line library, which would double its start-up time; everything else, its
 * help and every other wrong usage go through that library.
 */
const args = process.argv.slice(2)
const ask = args.findIndex((arg) => /^(?:--|-h|-v|--help|--version|--completions(?:=.*)?)$/.test(arg))

if (process.platform === "win32") {
  process.stderr.write("errand runs on Linux and macOS; on Windows run it inside WSL.\n")
  process.exitCode = 64
} else if (args[0] === "serve" && (ask < 0 || args[ask] === "--")) {
  ;(await import("./cli/Serve.ts")).main(args.slice(1))
} else (await import("./cli/Main.ts")).main(args)
