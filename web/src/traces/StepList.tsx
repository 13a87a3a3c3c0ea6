// The steps of a reading or of the reference, numbered, each with its places and what is wrong.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Tag } from "../kit/kit";
import { KINDS, type Row, type TracedReading, type Verdict, placesBeside, regionPictureUrl, splitAtImages } from "./rows";

const MOST = 3;

interface StepProps {
  reading: TracedReading;
  row: Row;
  /** The row above it: what that shows is not shown again. */
  before?: Row | undefined;
  truth?: boolean;
  chosen: boolean;
  window: string;
  onChoose: (place?: number) => void;
  /** Marks beside the kind: verdicts, errors, counterparts. */
  marks?: ComponentChildren;
  /** What stands below the words. */
  children?: ComponentChildren;
}

export function StepItem({ reading, row, before, truth = false, chosen, window, onChoose, marks, children }: StepProps) {
  const item = useRef<HTMLLIElement>(null);
  const kind = KINDS[row.kind];
  useEffect(() => {
    if (chosen) item.current?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  const thumb = (place: number) => <Cutout key={place} reading={reading} row={row} place={place} truth={truth} window={window} onChoose={() => onChoose(place)} />;
  const around = placesBeside(row, before);
  return (
    <li ref={item} class={`trace-step ${chosen ? "trace-chosen" : ""} ${truth ? "trace-of-truth" : ""}`} aria-current={chosen ? "step" : undefined}>
      <div class="row trace-step-head">
        <button type="button" class="trace-pick" aria-pressed={chosen} onClick={() => onChoose()}>
          <span class="trace-number">{row.number}</span>
          <span aria-hidden="true">{kind.sign}</span> {kind.word}
        </button>
        {row.level ? <Tag>{row.level}</Tag> : null}
        {row.regions.map((region, place) => (
          <button key={place} type="button" class="trace-chip" onClick={() => onChoose(place)}>
            {region.told}
          </button>
        ))}
        {marks}
      </div>
      <div class="trace-body">
        <div class="trace-words">
          {splitAtImages(row.text, row.regions.length).map((piece, at) =>
            "words" in piece ? <p key={at}>{piece.words}</p> : row.regions[piece.place]?.drawable ? thumb(piece.place) : null,
          )}
          {row.regions
            .filter((region) => region.problem)
            .map((region, at) => (
              <p key={`problem-${at}`} class="trace-problem">
                <Tag kind={region.drawable ? "warn" : "bad"}>{region.drawable ? "note" : "cannot be drawn"}</Tag> {region.told}: {region.problem}
              </p>
            ))}
        </div>
        {around.length ? (
          <div class="trace-thumbs">
            {around.slice(0, MOST).map(thumb)}
            {around.length > MOST ? <span class="quiet-text">and {around.length - MOST} more</span> : null}
          </div>
        ) : null}
      </div>
      {children}
    </li>
  );
}

function Cutout({ reading, row, place, truth, window, onChoose }: { reading: TracedReading; row: Row; place: number; truth: boolean; window: string; onChoose: () => void }) {
  const region = row.regions[place];
  if (!region) return null;
  const volume = reading.pictures.find((one) => one.name === region.picture)?.kind === "volume";
  const address = regionPictureUrl(reading, row, place, { part: "cut", truth, ...(volume ? { window } : {}) });
  return (
    <button type="button" class="trace-cutout film" onClick={onChoose} aria-label={`Show ${region.told}`}>
      <img src={address} alt={`Cut-out: ${region.told}`} loading="lazy" />
    </button>
  );
}

/** Sentences of a step that do not hold, with the kind of error and the judge's reason. */
export function WrongSentences({ wrong }: { wrong: Verdict[] }) {
  if (!wrong.length) return null;
  return (
    <ul class="trace-wrong">
      {wrong.map((one, at) => (
        <li key={at}>
          <VerdictMark verdict={one} /> “{one.text}”{one.reason ? ` ${one.reason}` : ""}
        </li>
      ))}
    </ul>
  );
}

export function VerdictMark({ verdict }: { verdict: Verdict }) {
  return (
    <>
      {verdict.holds ? <Tag kind="good">✓ holds</Tag> : <Tag kind="bad">{verdict.judged ? "✗ does not hold" : "✗ not judged"}</Tag>}
      {verdict.critical ? <Tag kind="warn">decisive</Tag> : null}
      {verdict.errors.map((error) => (
        <span key={error.code} class="tag bad" title={error.about}>
          {error.name}
        </span>
      ))}
    </>
  );
}
