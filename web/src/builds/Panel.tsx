// The question, its verdicts and reasons, each with its key; what will be kept, and the other keys.
import type { ComponentChildren, RefObject } from "preact";
import { ErrorBox } from "../kit/kit";
import { ShownData } from "./ShownData";
import { correctedData, toggleReason } from "./draft";
import { keyOf, reasonKeys, verdictKeys } from "./keys";
import type { Adjudication } from "./useAdjudication";
import { CANNOT_JUDGE, type OpenQuestion } from "./types";

interface PanelProps {
  adjudication: Adjudication;
  question: OpenQuestion;
  panel: RefObject<HTMLDivElement>;
  note: RefObject<HTMLTextAreaElement>;
}

export function Panel({ adjudication, question, panel, note }: PanelProps) {
  const { draft, change, now } = adjudication;
  const verdicts = verdictKeys(question.choices);
  const reasons = reasonKeys(question.reasons.map((one) => one.code));
  const choices = [...question.choices.filter((choice) => choice !== CANNOT_JUDGE), CANNOT_JUDGE];
  const instead = correctedData(draft);
  const chosen = question.reasons.filter(({ code }) => draft.reasons.includes(code));
  const wordless = draft.reasons.includes("other") && !draft.note.trim();
  return (
    <div class="adjudicate-panel" ref={panel} tabIndex={-1} role="group" aria-labelledby="asked">
      <div class="adjudicate-question" tabIndex={0} role="region" aria-label="Question">
        <p class="quiet-text">
          {question.kind} · {question.item}
        </p>
        <h1 id="asked">{question.text}</h1>
        {question.pictures.length ? <ShownData shown={question.shown} /> : null}
      </div>
      <div class="adjudicate-answer">
        {adjudication.problem ? <ErrorBox problem={adjudication.problem} /> : null}
        <div class="adjudicate-choices" role="group" aria-label="Verdict">
          {choices.map((choice) => (
            <button key={choice} type="button" aria-pressed={draft.verdict === choice} onClick={() => change({ verdict: choice })}>
              <Key of={keyOf(verdicts, choice)} /> {choice}
            </button>
          ))}
        </div>
        <div class="adjudicate-reasons" role="group" aria-label="Reasons (optional)">
          {question.reasons.map(({ code, about }) => (
            <button
              key={code}
              type="button"
              title={about}
              aria-pressed={draft.reasons.includes(code)}
              onClick={() => change({ reasons: toggleReason(draft.reasons, code) })}
            >
              <Key of={keyOf(reasons, code)} /> {code}
            </button>
          ))}
        </div>
        {chosen.length ? (
          <p class="quiet-text adjudicate-last">{chosen.map(({ about }) => about).join("; ")}</p>
        ) : null}
        <label class="field adjudicate-note">
          <span>
            Note <kbd>n</kbd> {wordless ? <strong> – “other” needs a note</strong> : null}
          </span>
          <textarea
            ref={note}
            rows={2}
            maxLength={4000}
            value={draft.note}
            onInput={(event) => change({ note: event.currentTarget.value })}
          />
        </label>
        {instead ? (
          <p class="adjudicate-instead">
            Corrected: <code>{JSON.stringify(instead)}</code>{" "}
            <button type="button" class="quiet" onClick={() => change({ boxes: [], first: null, last: null, rest: {} })}>
              Clear <kbd>x</kbd>
            </button>
          </p>
        ) : null}
        <div class="row adjudicate-do">
          <button type="button" class="chief" disabled={adjudication.busy} onClick={adjudication.submit}>
            Submit <kbd>Enter</kbd>
          </button>
          <button type="button" disabled={adjudication.busy} onClick={adjudication.skip}>
            Skip <kbd>s</kbd>
          </button>
          <button type="button" disabled={adjudication.busy || !now?.last} onClick={adjudication.undo}>
            Undo <kbd>u</kbd>
          </button>
        </div>
        <p class="quiet-text adjudicate-last">
          {now?.last ? `Your last verdict: ${now.last.verdict}, on ${now.last.item}. ` : ""}
          <kbd>Ctrl</kbd>+<kbd>Enter</kbd> submits from the note, <kbd>Esc</kbd> returns here.
        </p>
      </div>
    </div>
  );
}

function Key({ of }: { of: string | undefined }): ComponentChildren {
  return of === undefined ? null : <kbd>{of}</kbd>;
}
