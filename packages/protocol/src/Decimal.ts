/**
 * Numbers as they are written, without a double in between (FRM-12).
 *
 * Rule: two spellings are the same number exactly if they have the same significant form.
 */

/** A number's digits without leading and trailing zeros, and the power of ten of its last digit. */
export const significant = (text: string): string => {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d*)\.?(\d*)(?:[eE]([-+]?\d+))?$/.exec(text) ?? []
  const all = (whole + fraction).replace(/^0+/, "")
  let end = all.length
  while (end > 0 && all[end - 1] === "0") end--
  return end === 0 ? "0" : `${sign}${all.slice(0, end)}e${Number(exponent) - fraction.length + all.length - end}`
}

/** Whether a number is a whole one: `50e-1` and `1.0` are. */
export const isInteger = (text: string): boolean => !significant(text).includes("e-")

/** Whether the digits of a number survive being a double. */
export const isExact = (text: string): boolean => significant(text) === significant(String(Number(text)))
