// The reference beside the reading: its steps, the answer, the report; only where asked for.
import { Sheet, Tag } from "../kit/kit";
import { StepItem } from "./StepList";
import type { Pairs, Reference, Row, TracedReading } from "./rows";

interface ReferenceProps {
  reading: TracedReading;
  reference: Reference;
  rows: Row[];
  pairs: Pairs;
  lit: Row | null;
  window: string;
  onChoose: (number: number) => void;
  onReading: (number: number) => void;
}

export function ReferenceColumn({ reading, reference, rows, pairs, lit, window, onChoose, onReading }: ReferenceProps) {
  if (!reference.released) return <p class="sheet">The release does not contain the truth of this case.</p>;
  const text = reference.answer_text ?? reading.options.find((one) => one.letter === reference.answer)?.text;
  return (
    <>
      {reference.answer || text ? (
        <Sheet title="The answer">
          <p>
            <strong>{[reference.answer, text].filter(Boolean).join(" · ")}</strong>
          </p>
        </Sheet>
      ) : null}
      <p class="quiet-text">{reference.is_trace ? "The reference trace, in its own order." : "The release has no trace: these are its findings."}</p>
      <ol class="trace-steps">
        {rows.map((row, at) => {
          const mine = pairs.ofReference.get(row.number) ?? [];
          return (
            <StepItem
              key={row.number}
              reading={reading}
              row={row}
              before={rows[at - 1]}
              truth
              chosen={row === lit}
              window={window}
              onChoose={() => onChoose(row.number)}
              marks={
                row.regions.length ? (
                  mine.length ? (
                    mine.map((number) => (
                      <button key={number} type="button" class="trace-chip" onClick={() => onReading(number)}>
                        ↔ step {number}
                      </button>
                    ))
                  ) : (
                    <Tag kind="warn">no counterpart</Tag>
                  )
                ) : null
              }
            />
          );
        })}
      </ol>
      {reference.report ? (
        <Sheet title="Reference report">
          <p class="long-text">{reference.report}</p>
        </Sheet>
      ) : null}
      {reference.discussion ? (
        <Sheet title="Reference discussion">
          <p class="long-text">{reference.discussion}</p>
        </Sheet>
      ) : null}
    </>
  );
}
