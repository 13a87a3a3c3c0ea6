// Which key does what: digits give verdicts, letters give reasons, the rest is the same everywhere.
import { CANNOT_JUDGE } from "./types";

/** Letters that always do the same, so that no reason has them. */
export const RESERVED = "bflgmnpsuvwxz";

/** Key → verdict: 1 to 9 in the question's order, 0 for "cannot judge". */
export function verdictKeys(choices: readonly string[]): Map<string, string> {
  const own = choices.filter((choice) => choice !== CANNOT_JUDGE);
  const keys = new Map(own.slice(0, 9).map((choice, at) => [String(at + 1), choice]));
  return keys.set("0", CANNOT_JUDGE);
}

/** Letter → reason: the first letter of the code that is free, else any that is. */
export function reasonKeys(codes: readonly string[]): Map<string, string> {
  const keys = new Map<string, string>();
  for (const code of codes) {
    const letters = `${code.toLowerCase()}abcdefghijklmnopqrstuvwxyz`;
    const free = [...letters].find((letter) => /[a-z]/.test(letter) && !RESERVED.includes(letter) && !keys.has(letter));
    if (free) keys.set(free, code);
  }
  return keys;
}

/** The key of a verdict or reason, for showing it. */
export function keyOf(keys: Map<string, string>, value: string): string | undefined {
  for (const [key, own] of keys) if (own === value) return key;
  return undefined;
}
