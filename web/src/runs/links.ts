// Addresses that numbers lead to: the cases behind them.
import { to } from "../router";

/** Runs that the server compares at once. */
export const MAX_COMPARED = 20;

/** The cases of a run behind a number, the worst first: who asks for them asks for the truth. */
export function runCasesUrl(run: string, metric: string, better: string, group?: { breakdown: string; group: string }): string {
  const query = new URLSearchParams({ tab: "cases", truth: "1", metric, sort: better === "lower" ? "-metric" : "metric" });
  if (group) {
    query.set("breakdown", group.breakdown);
    query.set("group", group.group);
  }
  return `${to("runs", run)}?${query.toString()}`;
}

export function tabUrl(run: string, tab: string, more: Record<string, string> = {}): string {
  return `${to("runs", run)}?${new URLSearchParams({ tab, ...more }).toString()}`;
}

export function traceUrl(run: string, name: string): string {
  return to("runs", run, "cases", name);
}

export function compareUrl(runs: readonly string[], more: Record<string, string> = {}): string {
  return `/compare?${new URLSearchParams({ runs: runs.join(","), ...more }).toString()}`;
}

export function sideBySideUrl(name: string, runs: readonly string[]): string {
  return `${to("compare", name)}?${new URLSearchParams({ runs: runs.join(",") }).toString()}`;
}
