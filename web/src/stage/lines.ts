// How boxes are drawn: each kind has a colour and a manner of line, so that colour is never alone.
export type BoxKind = "plain" | "truth" | "reader" | "other" | "hit" | "miss" | "alarm" | "draft";

interface Line {
  title: string;
  colour: string;
  dash: string;
  width: number;
}

export const LINES: Record<BoxKind, Line> = {
  plain: { title: "region", colour: "var(--on-film)", dash: "", width: 1.75 },
  truth: { title: "truth", colour: "var(--truth)", dash: "", width: 3 },
  reader: { title: "reader", colour: "var(--hit)", dash: "12 5", width: 2.25 },
  other: { title: "another reader", colour: "var(--alarm)", dash: "12 4 2 4", width: 2.25 },
  hit: { title: "hit", colour: "var(--hit)", dash: "", width: 2.25 },
  miss: { title: "miss", colour: "var(--miss)", dash: "8 5", width: 2.5 },
  alarm: { title: "false alarm", colour: "var(--alarm)", dash: "2 4", width: 2.5 },
  draft: { title: "being drawn", colour: "var(--on-film)", dash: "5 4", width: 2 },
};
