// Which rows of a long grid are drawn: only those in sight, and a few around them.

interface Shape {
  columns: number;
  rows: number;
}

export function shapeOf(count: number, width: number, narrowest: number, gap: number): Shape {
  const columns = Math.max(1, Math.floor((width + gap) / (narrowest + gap)));
  return { columns, rows: Math.ceil(count / columns) };
}

/** First row to be drawn, and the one after the last. */
export function visibleRows(top: number, height: number, pitch: number, rows: number, around = 2): [number, number] {
  const first = Math.max(0, Math.floor(top / pitch) - around);
  const last = Math.min(rows, Math.ceil((top + height) / pitch) + around);
  return [Math.min(first, rows), Math.max(last, Math.min(first, rows))];
}

/** Where a key leads from a place in the grid; null where the key means nothing. */
export function moveByKey(key: string, at: number, count: number, columns: number, page: number): number | null {
  const steps: Record<string, number> = {
    ArrowRight: 1,
    ArrowLeft: -1,
    ArrowDown: columns,
    ArrowUp: -columns,
    PageDown: columns * page,
    PageUp: -columns * page,
    Home: -at,
    End: count - 1 - at,
  };
  const step = steps[key];
  if (step === undefined || count === 0) return null;
  const wanted = at + step;
  const isRow = Math.abs(step) !== 1;
  // Up from the first row and down from the last one lead nowhere, not to a corner.
  if (wanted < 0) return isRow && key !== "PageUp" ? at : key === "PageUp" ? at % columns : 0;
  if (wanted >= count) {
    if (key === "ArrowDown") return Math.floor(at / columns) < Math.floor((count - 1) / columns) ? count - 1 : at;
    return count - 1;
  }
  return wanted;
}

/** How far to scroll so that a row is in sight; null where it is. */
export function scrollToRow(row: number, pitch: number, top: number, height: number): number | null {
  if (row * pitch < top) return row * pitch;
  if ((row + 1) * pitch > top + height) return (row + 1) * pitch - height;
  return null;
}
