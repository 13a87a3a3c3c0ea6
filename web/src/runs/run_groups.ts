// Runs that can be compared belong together: one benchmark, one split, one copy of the dataset.
import type { ShelfRun, ShelfContents } from "../shelf";

export function groupsOf(shelf: Pick<ShelfContents, "runs" | "datasets">): [title: string, runs: ShelfRun[]][] {
  const found = new Map<string, ShelfRun[]>();
  for (const run of shelf.runs) {
    const key = JSON.stringify([run.benchmark, run.split, run.dataset]);
    found.set(key, [...(found.get(key) ?? []), run]);
  }
  const plain = (run: ShelfRun | undefined) => `${run?.benchmark} · ${run?.split}`;
  const all = [...found.values()];
  return all.map((runs) => {
    const title = plain(runs[0]);
    const copies = all.filter((others) => plain(others[0]) === title).length;
    if (copies < 2) return [title, runs];
    const name = shelf.datasets.find((one) => one.id === runs[0]?.dataset)?.name ?? "dataset not found";
    return [`${title} · ${name}`, runs];
  });
}
