/**
 * How a command ends (CLS-4, PGM-3, PGM-5).
 *
 * Rule: each number means one thing for all commands; those above 63 follow `sysexits.h`, those above 128 name a signal.
 */

/** It did what it was asked. */
export const DONE = 0
/** The run failed, or there was none because no server could be started. */
export const FAILED = 1
/** Wrong usage: one line on stderr says what to do. */
export const USAGE = 64
/** The file that was given has faults. */
export const FAULTY = 65
/** A fault of this program. */
export const INTERNAL = 70
/** Ctrl-C, or a run that somebody else cancelled. */
export const CANCELLED = 130
/** Whoever read our output went away. */
export const OUTPUT_CLOSED = 141
/** SIGTERM. */
export const TERMINATED = 143
