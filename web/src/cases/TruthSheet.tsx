// What is true of a case, once it was asked for.
import type { ComponentChildren } from "preact";
import type { ApiState } from "../api/client";
import { Loading, Sheet, Tag, ErrorBox, TextSection } from "../kit/kit";
import { formatCount } from "../kit/numbers";
import type { CaseDetail } from "./CaseView";
import { type CaseTruth, type PointedAt, type TruePlace, boxOf } from "./marks";

interface TruthSheetProps {
  seen: CaseDetail;
  asked: ApiState<CaseTruth>;
  pointedAt: PointedAt | null;
  onPoint: (lit: PointedAt | null) => void;
  /** What the person chose. */
  choice: string;
}

export function TruthSheet({ seen, asked, pointedAt, onPoint, choice }: TruthSheetProps) {
  const truth = asked.data;
  if (asked.problem) return <ErrorBox problem={asked.problem} retry={asked.reload} />;
  if (!truth) return <Loading what="the truth" />;
  if (!truth.released)
    return (
      <Sheet title="The truth">
        <p>The release does not contain the truth of this case.</p>
      </Sheet>
    );
  const right = seen.options.find((one) => one.letter === truth.answer);
  const facts = [truth.interval ? `interval: ${truth.interval}` : "", ...(truth.icd ?? []), truth.protocol ?? ""].filter(Boolean);
  return (
    <section class="sheet case-truth" aria-label="The truth">
      <h2>The truth</h2>
      {truth.title ? <h3>{truth.title}</h3> : null}
      {truth.answer || truth.answer_text ? (
        <p>
          <strong>
            {truth.answer ? `${truth.answer}: ` : ""}
            {truth.answer_text ?? right?.text}
          </strong>{" "}
          {choice && truth.answer ? choice === truth.answer ? <Tag kind="good">you were right</Tag> : <Tag kind="bad">you chose {choice}</Tag> : null}
        </p>
      ) : null}
      {facts.length ? (
        <p class="row">
          {facts.map((fact) => (
            <Tag key={fact}>{fact}</Tag>
          ))}
        </p>
      ) : null}
      {truth.findings?.length ? (
        <>
          <h3>Findings</h3>
          <ol class="case-found">
            {truth.findings.map((finding, at) => (
              <Pointable key={at} own={{ key: finding.query ?? String(at), text: finding.text, places: finding.places }} lit={pointedAt} onLit={onPoint}>
                {finding.category ? (
                  <span class="quiet-text">
                    {" "}
                    {finding.category} {finding.category_name ?? ""}
                    {finding.parent_name && finding.parent_name !== finding.category_name ? ` (${finding.parent_name})` : ""}
                  </span>
                ) : null}
                {finding.voxels ? <span class="quiet-text"> · {finding.voxels.toLocaleString("en")} voxels</span> : null}
              </Pointable>
            ))}
          </ol>
        </>
      ) : null}
      <TextSection title="Report" text={truth.report} />
      <TextSection title="Discussion" text={truth.discussion} />
      {truth.steps?.length ? (
        <details>
          <summary>The reference reading, {truth.steps.length} steps</summary>
          <ol class="case-found">
            {truth.steps.map((step, at) => (
              <Pointable key={at} own={{ key: `step-${at}`, text: step.text, places: step.places }} lit={pointedAt} onLit={onPoint}>
                <Tag>{step.level ? `finding ${step.query}: ${step.level}` : step.kind}</Tag>
              </Pointable>
            ))}
          </ol>
        </details>
      ) : null}
      {Object.keys(truth.extra ?? {}).length ? (
        <details>
          <summary>Other columns of the release</summary>
          <dl class="case-extra">
            {Object.entries(truth.extra ?? {}).map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </details>
      ) : null}
    </section>
  );
}

/** A line that shows its places on the pictures while one points at it. */
function Pointable({ own, lit, onLit, children }: { own: PointedAt; lit: PointedAt | null; onLit: (lit: PointedAt | null) => void; children: ComponentChildren }) {
  const places = own.places.filter((place) => place.kind !== "whole");
  if (!places.length)
    return (
      <li>
        {own.text} {children}
      </li>
    );
  const on = lit?.key === own.key;
  const off = () => onLit(null);
  return (
    <li>
      <button
        type="button"
        class="case-point"
        aria-pressed={on}
        onMouseEnter={() => onLit(own)}
        onMouseLeave={off}
        onFocus={() => onLit(own)}
        onBlur={off}
        onClick={() => onLit(own)}
      >
        {own.text || describePlaces(places)}
      </button>{" "}
      {children} <span class="quiet-text">{describePlaces(places)}</span>
    </li>
  );
}

function describePlaces(places: TruePlace[]): string {
  const boxes = places.filter(boxOf).length;
  const slices = places.filter((one) => one.kind === "slices");
  const parts = [
    boxes ? formatCount(boxes, "box", "boxes") : "",
    places.some((one) => one.kind === "mask") ? "mask" : "",
    ...slices.map((one) => `${one.label ? `${one.label}, ` : ""}slices ${one.first}–${one.last}`),
  ];
  return parts.filter(Boolean).join(", ");
}
