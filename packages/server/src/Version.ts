/** The version of the server, as its package has it; a test compares the two (LIF-7). */
export const version = "0.1.0"
