// One person at work on the queue: the question on the screen, the draft, submitting, undoing, skipping.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get, send, toApiError } from "../api/client";
import { type Draft, EMPTY, correctedData, draftOf } from "./draft";
import { type NextQuestion, type VerdictSaved, type VerdictUndone, queueApi } from "./types";

export interface Adjudication {
  /** What is on the screen; null before the first answer. */
  now: NextQuestion | null;
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  /** What was done last, in one line. */
  message: string;
  problem: ApiError | null;
  busy: boolean;
  /** Questions that were skipped since the screen was opened. */
  skipped: number;
  submit: () => void;
  undo: () => void;
  skip: () => void;
  reload: () => void;
}

export function useAdjudication(build: string, person: string, kind: string): Adjudication {
  const [now, setNow] = useState<NextQuestion | null>(null);
  const [draft, setDraft] = useState<Draft>(EMPTY);
  const [message, setMessage] = useState("");
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const [skipped, setSkipped] = useState<ReadonlySet<string>>(new Set());
  // Keys come faster than drawings: what is being done is kept beside the state.
  const working = useRef(false);
  const latest = useRef({ now, draft });
  latest.current = { now, draft };
  const here = useRef(true);

  const work = async (what: () => Promise<void>) => {
    if (working.current) return;
    working.current = true;
    setBusy(true);
    setProblem(null);
    try {
      await what();
    } catch (error) {
      if (here.current) setProblem(toApiError(error));
    } finally {
      working.current = false;
      if (here.current) setBusy(false);
    }
  };

  const load = async (query: { after?: string | undefined; question?: string | undefined }, begun: Draft = EMPTY) => {
    const found = await get<NextQuestion>(queueApi(build, "next", { person, kind: kind || undefined, ...query }));
    if (!here.current) return;
    setNow(found);
    setDraft(begun);
    scrollTo(0, 0);
  };

  const submit = () =>
    void work(async () => {
      const { now, draft } = latest.current;
      const question = now?.question;
      if (!question) return;
      if (draft.verdict === null) {
        setMessage("Choose a verdict first: press its number.");
        return;
      }
      const body = {
        person,
        question: question.id,
        asked: question.asked,
        verdict: draft.verdict,
        reasons: draft.reasons,
        note: draft.note,
        corrected: correctedData(draft),
      };
      try {
        const { kept } = await send<VerdictSaved>("POST", queueApi(build, "verdicts"), body);
        setMessage(`Saved for ${kept.item}: ${[kept.verdict, ...kept.reasons].join(", ")}.`);
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 409) throw error;
        setMessage(`Not saved: ${error.message}.`); // what is on the screen is out of date: get it anew
        await load({ question: question.id });
        if (latest.current.now?.question) return;
      }
      await load({ after: question.id });
    });

  const undo = () =>
    void work(async () => {
      const last = latest.current.now?.last;
      if (!last) {
        setMessage("There is nothing to undo.");
        return;
      }
      const { undone } = await send<VerdictUndone>("POST", queueApi(build, "undo"), { person, question: last.question });
      setMessage(`Undone: ${last.verdict}, on ${last.item}. You can answer it again.`);
      await load({ question: last.question }, undone ? draftOf(undone) : EMPTY);
    });

  const skip = () =>
    void work(async () => {
      const question = latest.current.now?.question;
      if (!question) return;
      setSkipped((before) => new Set(before).add(question.id));
      setMessage(`Skipped: ${question.item}. It comes back after the others.`);
      await load({ after: question.id });
    });

  useEffect(() => {
    here.current = true;
    void work(() => load({}));
    return () => {
      here.current = false;
    };
  }, [build, person, kind]);

  return {
    now,
    draft,
    change: (part) => setDraft((before) => ({ ...before, ...part })),
    message,
    problem,
    busy,
    skipped: skipped.size,
    submit,
    undo,
    skip,
    reload: () => void work(() => load({ question: latest.current.now?.question?.id })),
  };
}
