// What the server says of builds and questions.
import { type Schemas, apiUrl } from "../api/client";

export type BuildOverview = Schemas["BuildOverview"];
export type BuildLedger = Schemas["BuildLedger"];
export type BuildStep = Schemas["BuildStep"];
export type BuildCase = Schemas["BuildCase"];
export type BuildHistory = Schemas["BuildHistory"];
export type BuildDecision = Schemas["BuildDecision"];
export type BuildChange = Schemas["BuildChange"];
export type BuildAnswer = Schemas["BuildAnswer"];
export type QueueProgress = Schemas["QueueProgress"];
export type QueueAgreement = Schemas["QueueAgreement"];
export type ChainCheck = Schemas["ChainCheck"];
export type NextQuestion = Schemas["NextQuestion"];
export type OpenQuestion = Schemas["OpenQuestion"];
export type OwnVerdict = Schemas["OwnVerdict"];
export type VerdictSaved = Schemas["VerdictSaved"];
export type VerdictUndone = Schemas["VerdictUndone"];
export type EvidenceVolume = Schemas["EvidenceVolume"];
export type AgreementValue = Schemas["AgreementValue"];
export type JudgedRun = Schemas["JudgedRun"];

export const CANNOT_JUDGE = "cannot judge";

/** An address below the queue of a build. */
export function queueApi(build: string, part: string, query: Record<string, string | number | undefined> = {}): string {
  return apiUrl(["builds", build, "queue", part], query);
}
