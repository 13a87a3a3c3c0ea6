// What judges said of the explanation and the discussion, sentence by sentence.
import { Field, Sheet, Tag } from "../kit/kit";
import { VerdictMark } from "./StepList";
import type { Judgement } from "./rows";

function judgementName(one: Judgement): string {
  return `${one.kind === "steps" ? "Explanation" : "Discussion"}, by ${one.judge} (${one.rule || "no rule"})`;
}

export function Verdicts({ all, chosen, onChoose }: { all: Judgement[]; chosen: number; onChoose: (at: number) => void }) {
  const one = all[chosen];
  if (!one) return <p class="quiet-text">This reading was not judged.</p>;
  const hold = one.verdicts.filter((verdict) => verdict.holds).length;
  return (
    <Sheet
      title="Verdicts of the judge"
      tools={
        <Field label="Judge">
          <select value={String(chosen)} onChange={(event) => onChoose(Number(event.currentTarget.value))}>
            {all.map((other, at) => (
              <option key={at} value={String(at)}>
                {judgementName(other)}
              </option>
            ))}
          </select>
        </Field>
      }
    >
      {one.stale ? (
        <p>
          <Tag kind="warn">outdated</Tag> The reading has changed since it was judged.
        </p>
      ) : null}
      {one.error ? (
        <p class="trace-problem">
          <Tag kind="bad">the judge failed</Tag> {one.error}
        </p>
      ) : null}
      <p>
        {hold} of {one.verdicts.length} {one.kind === "steps" ? "steps" : "sentences"} hold
        {one.missing ? `; ${one.missing} were not judged, which counts as wrong` : ""}.
      </p>
      <ol class="trace-verdicts">
        {one.verdicts.map((verdict, at) => (
          <li key={at}>
            <span>{verdict.text}</span>
            <span class="row trace-verdict-marks">
              <VerdictMark verdict={verdict} />
              {verdict.section ? <Tag>{verdict.section}</Tag> : null}
            </span>
            {verdict.reason ? <span class="quiet-text">{verdict.reason}</span> : null}
          </li>
        ))}
      </ol>
      {one.education.length ? (
        <dl class="trace-marks">
          {one.education.map((mark) => (
            <div key={mark.name}>
              <dt>{mark.name}</dt>
              <dd>
                {mark.judged ? `${mark.mark} of ${mark.highest}` : "not judged"} {mark.reason ? <span class="quiet-text">{mark.reason}</span> : null}
              </dd>
            </div>
          ))}
        </dl>
      ) : null}
    </Sheet>
  );
}
