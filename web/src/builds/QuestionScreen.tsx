// Where a person sits: what is shown at the left, question, verdicts and keys at the right.
import { useEffect, useRef } from "preact/hooks";
import { Loading, ErrorBox } from "../kit/kit";
import { formatCount } from "../kit/numbers";
import { Link, to } from "../router";
import { Evidence, type EvidenceKeys } from "./Evidence";
import { Panel } from "./Panel";
import { ShownData } from "./ShownData";
import { isTyping, useKeydown } from "../kit/keys";
import { reasonKeys, verdictKeys } from "./keys";
import { toggleReason } from "./draft";
import { useAdjudication } from "./useAdjudication";

export function QuestionScreen({ build, person, kind, leave }: { build: string; person: string; kind: string; leave: () => void }) {
  const adjudication = useAdjudication(build, person, kind);
  const { now, draft, change } = adjudication;
  const question = now?.question ?? null;
  const panel = useRef<HTMLDivElement>(null);
  const note = useRef<HTMLTextAreaElement>(null);
  const evidenceKeys = useRef<EvidenceKeys | null>(null);
  const toPanel = () => panel.current?.focus({ preventScroll: true });

  // A new question is announced, and the keys are its own again.
  useEffect(() => toPanel(), [question?.id, question?.asked, now?.given]);

  const pressed = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.altKey || event.metaKey) return;
    if (event.key === "Escape") {
      toPanel();
      return;
    }
    if (event.key === "Enter" && event.ctrlKey) {
      event.preventDefault();
      adjudication.submit();
      return;
    }
    if (isTyping(event.target) || event.target instanceof HTMLInputElement) return; // a slider has keys of its own
    const control = event.target instanceof Element && event.target.matches("button, a, summary, [role=button], [role=tab]");
    const key = event.key.toLowerCase();
    const act = event.ctrlKey ? (key === "z" ? adjudication.undo : null) : plainKey(event.key, key, control);
    if (!act) return;
    event.preventDefault();
    act();
  };

  const plainKey = (key: string, low: string, control: boolean): (() => void) | null => {
    if (low === "u") return adjudication.undo;
    if (!question) return null;
    if (key === "Enter") return control ? null : adjudication.submit;
    if (low === "s") return adjudication.skip;
    if (low === "n") return () => note.current?.focus();
    const verdict = verdictKeys(question.choices).get(key);
    if (verdict) return () => change({ verdict });
    const reason = reasonKeys(question.reasons.map((one) => one.code)).get(low);
    if (reason) return () => change({ reasons: toggleReason(draft.reasons, reason) });
    return evidenceKeys.current?.key(key) ?? null;
  };

  useKeydown(pressed);

  if (!now) return adjudication.problem ? <ErrorBox problem={adjudication.problem} retry={adjudication.reload} /> : <Loading what="the first question" />;
  const all = now.given + now.left;
  return (
    <div class="adjudicate">
      <div class="adjudicate-top">
        <span>
          You are <strong>{now.person}</strong>
        </span>
        <progress max={Math.max(1, all)} value={now.given} aria-label="Your verdicts" />
        <span>
          {now.given} done, {now.left} left
          {adjudication.skipped ? `, ${adjudication.skipped} skipped` : ""}
        </span>
        <span class="adjudicate-told" role="status" aria-live="polite">
          {adjudication.message}
        </span>
        <button type="button" class="quiet" onClick={leave}>
          Leave
        </button>
      </div>
      {question ? (
        <div class="adjudicate-sides">
          <div class="adjudicate-evidence">
            {question.pictures.length ? (
              <Evidence key={question.id} build={build} question={question} draft={draft} change={change} keys={evidenceKeys} toPanel={toPanel} />
            ) : (
              <div class="sheet adjudicate-texts">
                <ShownData shown={question.shown} />
              </div>
            )}
          </div>
          <Panel adjudication={adjudication} question={question} panel={panel} note={note} />
        </div>
      ) : (
        <div class="adjudicate-end sheet" tabIndex={-1} ref={panel}>
          <h1>No questions left for you</h1>
          <p>
            You have given {formatCount(now.given, "verdict")}. More may come when others differ, or when the build goes on.
          </p>
          {adjudication.problem ? <ErrorBox problem={adjudication.problem} /> : null}
          <div class="row">
            {now.last ? (
              <button type="button" onClick={adjudication.undo}>
                Undo the last: {now.last.verdict} <kbd>u</kbd>
              </button>
            ) : null}
            <button type="button" onClick={adjudication.reload}>
              Check for new questions
            </button>
            <Link href={to("builds", build)}>Back to the build</Link>
          </div>
        </div>
      )}
    </div>
  );
}
