// Rows in order of a value; rows without one come last, whichever way round.
import type { Cell } from "../charts/csv";

export function sortedBy<R>(rows: readonly R[], value: (row: R) => Cell, down: boolean): R[] {
  const keyed = rows.map((row, at) => ({ row, at, key: value(row) }));
  const absent = (key: Cell) => key === null || key === undefined || key === "";
  keyed.sort((one, two) => {
    if (absent(one.key) || absent(two.key)) return Number(absent(one.key)) - Number(absent(two.key)) || one.at - two.at;
    const order =
      typeof one.key === "number" && typeof two.key === "number"
        ? one.key - two.key
        : String(one.key).localeCompare(String(two.key), "en", { numeric: true });
    return (down ? -order : order) || one.at - two.at;
  });
  return keyed.map(({ row }) => row);
}
