// Runs that stand together in one folder need not repeat it.

/** The names without the folders that all of them share. */
export function shortNames(names: readonly string[]): string[] {
  const parts = names.map((name) => name.split("/"));
  const first = parts[0] ?? [];
  let same = 0;
  while (names.length > 1 && parts.every((own) => same < own.length - 1 && own[same] === first[same])) same += 1;
  return parts.map((own) => own.slice(same).join("/"));
}

/** Something with runs, whose names are made short. */
export function withShortNames<T extends { runs: readonly { name: string }[] }>(found: T): T {
  const names = shortNames(found.runs.map((run) => run.name));
  return { ...found, runs: found.runs.map((run, at) => ({ ...run, name: names[at] ?? run.name })) };
}
