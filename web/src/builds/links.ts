// Addresses within a build: the cases behind its numbers, and the history of one of them.
import { to } from "../router";

export interface CaseQuery {
  step?: string;
  outcome?: "kept" | "dropped" | "waiting" | "failed";
  reason?: string;
}

export function buildCasesUrl(build: string, behind: CaseQuery = {}): string {
  const query = new URLSearchParams(Object.entries(behind).filter(([, value]) => value !== undefined));
  return to("builds", build, "cases") + (query.size ? `?${query.toString()}` : "");
}

/** Ids of cases may hold anything, so they stand in the query. */
export function historyUrl(build: string, name: string): string {
  return `${to("builds", build, "history")}?${new URLSearchParams({ case: name }).toString()}`;
}
