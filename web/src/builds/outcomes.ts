// What may become of a case at a step, and how that is marked.
export const OUTCOME_TAGS: Record<string, "" | "good" | "warn" | "bad"> = { kept: "good", dropped: "bad", waiting: "warn", failed: "bad" };
