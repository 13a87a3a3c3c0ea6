// The words of a case: history, question, options, and what is to be found.
import { Sheet, Tag, TextSection } from "../kit/kit";
import type { CaseDetail } from "./CaseView";
import type { Draft } from "./draft";
import type { CaseTruth } from "./marks";

interface WordsProps {
  seen: CaseDetail;
  draft: Draft;
  /** Null where nothing may be written. */
  write: ((draft: Draft) => void) | null;
  truth: CaseTruth | null;
}

export function Words({ seen, draft, write, truth }: WordsProps) {
  const { history, instruction, options, queries } = seen;
  if (!history && !instruction && !options.length && !queries.length) return null;
  return (
    <Sheet title="The case">
      <TextSection title="Clinical history" text={history} />
      <TextSection title="Instruction" text={instruction} />
      {options.length ? (
        <fieldset class="case-options">
          <legend>Which diagnosis is it?</legend>
          {options.map((option) => (
            <label key={option.letter} class="case-option">
              <input
                type="radio"
                name="choice"
                value={option.letter}
                checked={draft.choice === option.letter}
                disabled={write === null}
                onChange={() => write?.({ ...draft, choice: option.letter })}
              />
              <kbd>{option.letter}</kbd>
              <span>{option.text}</span>
              {truth?.answer === option.letter ? <Tag kind="good">right</Tag> : null}
              {truth?.answer && draft.choice === option.letter && truth.answer !== option.letter ? <Tag kind="bad">your choice</Tag> : null}
            </label>
          ))}
        </fieldset>
      ) : null}
      {queries.length ? (
        <>
          <h3>Find in the pictures</h3>
          <ol class="case-queries" start={Number(queries[0]?.id) || 0}>
            {queries.map((query) => (
              <li key={query.id}>{query.text}</li>
            ))}
          </ol>
        </>
      ) : null}
    </Sheet>
  );
}
