/**
 * How a process of ours ends (CLS-3, CLS-4). This is an edge: it ends the process.
 *
 * Rule: it ends at once and with its exit code, whatever a thread still waits for.
 */

/** What of Node's resources is work for a thread of its pool: `FSReqCallback`, `GetAddrInfoReqWrap` and their like. */
const POOLED = /Req/

/**
 * Ends the process with an exit code, after the listeners to `exit`.
 *
 * `process.exit` joins the thread pool, and so waits for a name server that does not answer or a file system that is gone;
 * `process.reallyExit` does too, and a signal (SIGKILL, `process.abort`) loses the code. A process that becomes a shell loses
 * its other threads at once, on Linux and macOS alike, and the shell exits with the code.
 */
export const leave = (code: number): never => {
  if (process.getActiveResourcesInfo().some((name) => POOLED.test(name))) {
    process.once("exit", () => process.execve?.("/bin/sh", ["sh", "-c", `exit ${code}`], {}))
  }
  return process.exit(code)
}
