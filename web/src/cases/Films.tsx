// The flat pictures of a case: side by side, by time point, and one or two of them full size.
import type { ComponentChildren } from "preact";
import { Stage, type StageProps } from "../stage/Stage";
import type { CasePicture } from "./CaseView";
import { FullSize } from "./FullSize";
import { type Column, columnsOf } from "./columns";
import type { CaseTruth } from "./marks";

interface FilmsProps {
  pictures: CasePicture[];
  stageOf: (picture: CasePicture) => StageProps;
  /** The truth, once it is shown: captions and modalities. */
  truth: CaseTruth | null;
  /** The picture that is shown full size. */
  full: string | null;
  onFull: (name: string | null) => void;
  /** The words of the finding that boxes belong to, for the full-size view. */
  note: ComponentChildren;
}

export function Films({ pictures, stageOf, truth, full, onFull, note }: FilmsProps) {
  if (!pictures.length) return null;
  const columns = columnsOf(pictures);
  // One or two pictures have their tools at hand; more are looked at full size.
  const tools = pictures.length <= 2;
  return (
    <>
      <div class={columns.length > 1 ? "case-times" : ""} data-columns={columns.length}>
        {columns.map((column) => (
          <TimePoint key={column.title} column={column} named={columns.length > 1}>
            <div class={columns.length > 1 ? "stack" : `case-films${pictures.length === 1 ? " one" : ""}`}>
              {column.pictures.map((picture) => (
                <Film key={picture.name} picture={picture} stage={stageOf(picture)} tools={tools} truth={truth} first={picture === pictures[0]} onFull={onFull} />
              ))}
            </div>
          </TimePoint>
        ))}
      </div>
      {full === null ? null : <FullSize pictures={pictures} stageOf={stageOf} open={full} onOpen={onFull} truth={truth} note={note} />}
    </>
  );
}

function TimePoint({ column, named, children }: { column: Column; named: boolean; children: ComponentChildren }) {
  if (!named) return <>{children}</>;
  return (
    <section class="case-time" aria-label={column.title}>
      <h2>{column.title}</h2>
      {children}
    </section>
  );
}

interface FilmProps {
  picture: CasePicture;
  stage: StageProps;
  tools: boolean;
  truth: CaseTruth | null;
  /** Whether the key opens this one. */
  first: boolean;
  onFull: (name: string) => void;
}

function Film({ picture, stage, tools, truth, first, onFull }: FilmProps) {
  const { onDraw, onChange, onChoose, ...plain } = stage;
  const open = tools || picture.problem ? undefined : () => onFull(picture.name);
  return (
    <figure class="case-film" data-picture={picture.name}>
      {/* The button below does the same for those without a pointer. */}
      <div class={open ? "case-open" : ""} onClick={open}>
        {tools ? <Stage {...stage} tools /> : <Stage {...plain} />}
      </div>
      <figcaption>
        <span class="row case-film-name">
          <strong>{picture.name}</strong>
          {picture.width ? (
            <span class="quiet-text">
              {picture.width} × {picture.height}
            </span>
          ) : null}
          {picture.problem ? null : (
            <button type="button" class="quiet" onClick={() => onFull(picture.name)}>
              Full size <span class="hidden-text">of {picture.name}</span>
              {first ? <kbd>f</kbd> : null}
            </button>
          )}
        </span>
        <Caption picture={picture.name} truth={truth} />
      </figcaption>
    </figure>
  );
}

/** What the release says of a picture, once the truth is shown. */
export function Caption({ picture, truth }: { picture: string; truth: CaseTruth | null }) {
  const note = truth?.notes?.find((one) => one.picture === picture);
  const caption = truth?.captions?.[picture];
  const kinds = [note?.modality, note?.sub_modality].filter(Boolean).join(" · ");
  if (!caption && !kinds) return null;
  return (
    <span class="case-caption">
      {kinds ? <span class="tag">{kinds}</span> : null} {caption}
    </span>
  );
}
