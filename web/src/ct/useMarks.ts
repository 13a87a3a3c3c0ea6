// What is known beside a scan, and the masks that are laid over it.
import { useEffect, useMemo, useState } from "preact/hooks";
import { ApiError, type Schemas, apiUrl, useApi, toApiError } from "../api/client";
import { type Layer, type Mode, blockOf } from "./labels";
import type { Viewer } from "./niivue";
import { fetchLabels } from "./scan";
import type { Scan } from "./scan";

export type LesionFacts = Schemas["LesionFacts"];

/** One sentence of the case with what is known of it: of the truth, of a run, or of both. */
export interface Row {
  query: string;
  text: string;
  category: string;
  truth: Schemas["FindingFacts"] | null;
  made: Schemas["MarkedSentence"] | null;
}

export type At = readonly [dataset: string, split: string, case_: string, picture: string];

/** The sentences; the truth is asked for only where it may be shown. */
export function useRows(at: At, run: string, truth: boolean): { rows: Row[]; failed: string; problem: ApiError | null; busy: boolean } {
  const query = run ? { run } : {};
  const beside = useApi<Schemas["VolumeFindings"]>(truth ? apiUrl(["volumes", ...at, "findings"], query) : null);
  const marks = useApi<Schemas["VolumeMarks"]>(!truth && run ? apiUrl(["volumes", ...at, "marks"], query) : null);
  const rows = useMemo<Row[]>(() => {
    if (truth)
      return (beside.data?.findings ?? []).map((one) => ({
        query: one.query,
        text: one.text,
        category: [one.category, one.category_name].filter(Boolean).join(" "),
        truth: one,
        made: one.predicted ?? null,
      }));
    return (marks.data?.marks ?? []).map((one) => ({ query: one.query, text: one.text, category: "", truth: null, made: one }));
  }, [truth, beside.data, marks.data]);
  const failed = (truth ? beside.data?.failed : marks.data?.failed) ?? "";
  return { rows, failed, problem: beside.problem ?? marks.problem, busy: beside.busy || marks.busy };
}

/** Whether a sentence has something to show in a mode. */
export function canShow(row: Row, mode: Mode): boolean {
  const true_ = (row.truth?.voxels ?? 0) > 0 && !row.truth?.problem;
  const made = (row.made?.voxels ?? 0) > 0;
  return mode === "truth" ? true_ : mode === "prediction" ? made : true_;
}

/** Lay the masks of some sentences over the scan. */
export function useLayers(
  viewer: Viewer | null,
  scan: Scan | null,
  at: At,
  asked: { run: string; mode: Mode; queries: readonly string[]; entity: number | undefined },
): { busy: boolean; problem: ApiError | null } {
  const { run, mode, queries, entity } = asked;
  const [layers, setLayers] = useState<{ of: string; layers: Layer[] }>({ of: "", layers: [] });
  const [problem, setProblem] = useState<ApiError | null>(null);
  const wanted = JSON.stringify([...at, run, mode, queries]);
  useEffect(() => {
    const leaving = new AbortController();
    const query = { frame: "patient", ...(mode === "truth" ? {} : { run }) };
    Promise.all(queries.map((one) => fetchLabels(apiUrl(["volumes", ...at, mode, one], query), leaving.signal)))
      .then((found) => {
        setProblem(null);
        setLayers({ of: wanted, layers: found.map((labels) => ({ mode, labels })) });
      })
      .catch((error: unknown) => {
        if (!leaving.signal.aborted) setProblem(toApiError(error));
      });
    return () => leaving.abort();
  }, [wanted]);
  const space = scan?.space;
  useEffect(() => {
    if (!viewer || !space) return;
    viewer.marks(blockOf(space, layers.layers.map((layer) => ({ ...layer, entity }))));
  }, [viewer, space, layers, entity]);
  return { busy: layers.of !== wanted && !problem, problem };
}
