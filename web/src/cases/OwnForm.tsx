// Reading a case oneself: findings with their boxes, a report, and saving them under one's name.
import { useState } from "preact/hooks";
import { ApiError, apiUrl, send, toApiError } from "../api/client";
import { Field, Sheet, Tag, ErrorBox } from "../kit/kit";
import { formatCount } from "../kit/numbers";
import { Link, to } from "../router";
import type { CaseDetail, OwnReadingState } from "./CaseView";
import { OwnFindings } from "./OwnFindings";
import { type Draft, asReading, isEmpty, saveName } from "./draft";

interface OwnFormProps {
  seen: CaseDetail;
  /** Dataset, split, case. */
  place: string[];
  draft: Draft;
  write: (draft: Draft) => void;
  /** The finding that the next box belongs to. */
  active: number | null;
  onActive: (at: number | null, box: string | null) => void;
  name: string;
  onName: (name: string) => void;
  /** Who is logged in: then the name is not asked for. */
  user: string | null;
  sawTruth: boolean;
  kept: OwnReadingState | null;
  unsaved: boolean;
  onSaved: (kept: OwnReadingState) => void;
  onCompare: (() => void) | null;
}

const SURE = [10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 100];

export function OwnForm(props: OwnFormProps) {
  const { seen, place, draft, write, name, onName, user, sawTruth, kept, unsaved, onSaved, onCompare } = props;
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [done, setDone] = useState(false);
  const there = kept?.reading ?? null;
  const save = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const body = asReading(draft, user ?? (name.trim() || "person"), sawTruth);
      onSaved(await send<OwnReadingState>("POST", apiUrl(["cases", ...place, "own"]), body));
      setDone(true);
    } catch (error) {
      setProblem(toApiError(error));
    }
    setBusy(false);
  };
  return (
    <Sheet title="Your reading" tools={<State unsaved={unsaved} kept={there !== null} />}>
      <form class="stack" onSubmit={save}>
        {seen.options.length ? (
          <div class="row">
            <Field label="How sure are you of your choice?">
              <select
                value={draft.sure ?? ""}
                disabled={!draft.choice}
                onChange={(event) => write({ ...draft, sure: event.currentTarget.value === "" ? null : Number(event.currentTarget.value) })}
              >
                <option value="">not stated</option>
                {SURE.concat(draft.sure !== null && !SURE.includes(draft.sure) ? [draft.sure] : []).map((one) => (
                  <option key={one} value={one}>
                    {one} %
                  </option>
                ))}
              </select>
            </Field>
            <span class="quiet-text">{draft.choice ? `You chose ${draft.choice}.` : "Choose one of the options above."}</span>
          </div>
        ) : seen.asks === "answer" ? (
          <Field label="Your answer">
            <textarea rows={2} maxLength={4000} value={draft.choice} onInput={(event) => write({ ...draft, choice: event.currentTarget.value })} />
          </Field>
        ) : null}
        <OwnFindings {...props} />
        <Field label={seen.options.length ? "Summary of the pictures" : "Report"}>
          <textarea rows={4} maxLength={50000} value={draft.report} onInput={(event) => write({ ...draft, report: event.currentTarget.value })} />
        </Field>
        <Field label="Discussion">
          <textarea rows={3} maxLength={50000} value={draft.discussion} onInput={(event) => write({ ...draft, discussion: event.currentTarget.value })} />
        </Field>
        {user === null ? (
          <Field label="Your name or initials">
            <input
              maxLength={60}
              placeholder="person"
              value={name}
              onChange={(event) => {
                onName(event.currentTarget.value);
                saveName(event.currentTarget.value);
              }}
            />
          </Field>
        ) : (
          <span class="quiet-text">Saved as {user}.</span>
        )}
        {sawTruth && unsaved ? <p class="quiet-text">The truth was shown before saving; the reading will record that.</p> : null}
        {problem ? <ErrorBox problem={problem} /> : null}
        <div class="row">
          <button type="submit" class="chief" disabled={busy || isEmpty(draft)}>
            {there ? "Save again" : "Save my reading"}
          </button>
          {done && !unsaved && onCompare ? (
            <button type="button" onClick={onCompare}>
              Compare with the truth
            </button>
          ) : null}
          {there && kept?.run ? <Link href={to("runs", kept.run, "cases", seen.id)}>Open the trace of your reading</Link> : null}
        </div>
        <span class="quiet-text" role="status">
          {done && !unsaved && kept ? `Saved. ${kept.name} has read ${formatCount(kept.count, "case")} of this split.` : ""}
        </span>
      </form>
    </Sheet>
  );
}

function State({ unsaved, kept }: { unsaved: boolean; kept: boolean }) {
  if (unsaved) return <Tag kind="warn">unsaved draft, stored in this browser</Tag>;
  return kept ? <Tag kind="good">saved</Tag> : null;
}
