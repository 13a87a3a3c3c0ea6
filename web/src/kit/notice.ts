/** Stands on every page and on everything that leaves it. */
export const NOTICE = "Research and education only, not for patient care.";
