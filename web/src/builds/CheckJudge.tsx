// For a run that a model judged: the way to where people check the judge.
import { useState } from "preact/hooks";
import { ApiError, apiUrl, send, useApi, toApiError } from "../api/client";
import { ErrorBox } from "../kit/kit";
import { Link, go, to } from "../router";
import { useShelf } from "../shelf";
import type { JudgedRun } from "./types";

/** A link or a button; nothing where nothing of the run was judged. */
export function CheckJudge({ run }: { run: string }) {
  const { shelf, refresh } = useShelf();
  const asked = useApi<JudgedRun>(apiUrl(["runs", run, "judged"]));
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const found = asked.data;
  if (!found?.judges.length) return null;
  if (found.build) return <Link href={to("builds", found.build)}>People check the judge’s verdicts</Link>;
  if (shelf.rights.read_only || !shelf.rights.truth) return null;
  const begin = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const made = await send<JudgedRun>("POST", apiUrl(["runs", run, "judged"]));
      refresh();
      if (made.build) go(to("builds", made.build));
    } catch (error) {
      setProblem(toApiError(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button type="button" disabled={busy} onClick={() => void begin()} title="Writes questions into a folder next to the run; two people answer each">
        Have people check the judge’s {(found.steps + found.sentences).toLocaleString("en")} verdicts
      </button>
      {problem ? <ErrorBox problem={problem} /> : null}
    </>
  );
}
