// Which words of a text another one has not: the longest common run of words decides.

interface Piece {
  text: string;
  /** Whether the other text lacks it here. */
  only: boolean;
}

const MOST = 1500;

/** Below this share of common words, marking those that differ would mark everything. */
export const MIN_SHARED = 0.35;

/** Share of a text's pieces, by letters, that the other has too. */
export function sharedFraction(pieces: readonly Piece[]): number {
  const letters = (some: readonly Piece[]) => some.reduce((sum, piece) => sum + piece.text.trim().length, 0);
  return letters(pieces.filter((piece) => !piece.only)) / Math.max(1, letters(pieces));
}

/**
 * A text cut into pieces that the other has, and pieces that only this one has. `exact` is for what
 * was edited: there every sign counts.
 */
export function diffWords(text: string, other: string, exact = false): Piece[] {
  const mine = text.match(/\s*\S+/g) ?? [];
  const theirs = other.match(/\S+/g) ?? [];
  const as = exact ? (word: string) => word.trim() : plain;
  const one = mine.map(as);
  const two = theirs.map(as);
  const kept = mine.length > MOST || theirs.length > MOST ? inBag(one, two) : inOrder(one, two);
  const pieces: Piece[] = [];
  for (const [at, word] of mine.entries()) {
    const only = !kept[at];
    const last = pieces.at(-1);
    if (last && last.only === only) last.text += word;
    else {
      // The space between two pieces belongs to the one that is not marked.
      const space = last && only ? word.length - word.trimStart().length : 0;
      if (last) last.text += word.slice(0, space);
      pieces.push({ text: word.slice(space), only });
    }
  }
  const rest = text.slice(mine.join("").length);
  if (rest) pieces.push({ text: rest, only: false });
  return pieces;
}

/** A word as it is compared: neither case nor the punctuation around it matters; 1.5 is not 15, <5 not 5. */
function plain(word: string): string {
  return word.trim().toLowerCase().replace(/^[.,;:!?()[\]"'“”‘’]+|[.,;:!?()[\]"'“”‘’]+$/gu, "") || word.trim();
}

function inOrder(one: string[], two: string[]): boolean[] {
  const wide = two.length + 1;
  const longest = new Uint16Array((one.length + 1) * wide);
  for (let i = one.length - 1; i >= 0; i--)
    for (let j = two.length - 1; j >= 0; j--)
      longest[i * wide + j] =
        one[i] === two[j] ? (longest[(i + 1) * wide + j + 1] ?? 0) + 1 : Math.max(longest[(i + 1) * wide + j] ?? 0, longest[i * wide + j + 1] ?? 0);
  const kept = one.map(() => false);
  for (let i = 0, j = 0; i < one.length && j < two.length; ) {
    if (one[i] === two[j]) {
      kept[i] = true;
      i++;
      j++;
    } else if ((longest[(i + 1) * wide + j] ?? 0) >= (longest[i * wide + j + 1] ?? 0)) i++;
    else j++;
  }
  return kept;
}

/** For very long texts: whether the other has the word anywhere, as often. */
function inBag(mine: string[], theirs: string[]): boolean[] {
  const left = new Map<string, number>();
  for (const word of theirs) left.set(word, (left.get(word) ?? 0) + 1);
  return mine.map((word) => {
    const many = left.get(word) ?? 0;
    left.set(word, many - 1);
    return many > 0;
  });
}
