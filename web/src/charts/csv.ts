// Tables as CSV. Every row carries the notice, so that no line of it travels without.
import { NOTICE } from "../kit/notice";

export type Cell = string | number | boolean | null | undefined;

/** A text that a spreadsheet cannot take for a formula: names come from outside. */
export function escapeFormula(text: string): string {
  return /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text;
}

function formatCell(cell: Cell): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell === "number") return Number.isFinite(cell) ? String(cell) : "";
  if (typeof cell === "boolean") return cell ? "1" : "0";
  const text = escapeFormula(cell);
  return /[",\n\r;]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvOf(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const lines = [[...columns, "notice"], ...rows.map((row) => [...row, NOTICE])];
  if (!rows.length) lines.push([...columns.map(() => ""), NOTICE]);
  return lines.map((line) => line.map(formatCell).join(",")).join("\r\n") + "\r\n";
}
