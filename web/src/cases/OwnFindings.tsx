// The findings a person writes: words, boxes drawn on the pictures, slices of a volume.
import type { CaseDetail } from "./CaseView";
import type { Draft, DraftFinding, OwnPlace } from "./draft";
import { boxOf, slicesPlace, wholePlace } from "./marks";

interface OwnFindingsProps {
  seen: CaseDetail;
  draft: Draft;
  write: (draft: Draft) => void;
  active: number | null;
  onActive: (at: number | null, box: string | null) => void;
}

export function OwnFindings({ seen, draft, write, active, onActive }: OwnFindingsProps) {
  const change = (at: number, next: DraftFinding) => write({ ...draft, findings: draft.findings.map((one, n) => (n === at ? next : one)) });
  const remove = (at: number) => {
    write({ ...draft, findings: draft.findings.filter((_, n) => n !== at) });
    onActive(null, null);
  };
  const add = (query: string | null) => {
    write({ ...draft, findings: [...draft.findings, { text: "", query, places: [] }] });
    onActive(draft.findings.length, null);
  };
  const volume = seen.pictures.find((one) => one.kind === "volume");
  const films = seen.pictures.filter((one) => one.kind === "image").map((one) => one.name);
  const open = seen.queries.filter((query) => !draft.findings.some((one) => one.query === query.id));
  return (
    <fieldset class="case-own">
      <legend>Your findings</legend>
      {draft.findings.map((finding, at) => (
        <div key={at} class={`case-own-finding${at === active ? " active" : ""}`} onFocusIn={() => (at === active ? undefined : onActive(at, null))}>
          <label class="field">
            <span>{labelOf(seen, finding, at)}</span>
            <textarea
              rows={2}
              maxLength={4000}
              value={finding.text}
              placeholder="What you see, and where"
              onInput={(event) => change(at, { ...finding, text: event.currentTarget.value })}
            />
          </label>
          <Places finding={finding} at={at} change={(next) => change(at, next)} choose={(box) => onActive(at, box)} />
          <div class="row">
            {films.length > 1 ? <PictureField films={films} finding={finding} change={(next) => change(at, next)} /> : null}
            {volume ? <SliceFields name={volume.name} finding={finding} change={(next) => change(at, next)} /> : null}
            <button type="button" class="quiet" onClick={() => remove(at)}>
              Remove finding {at + 1}
            </button>
          </div>
        </div>
      ))}
      <div class="row">
        <button type="button" onClick={() => add(null)}>
          Add a finding
        </button>
        {open.slice(0, 12).map((query) => (
          <button key={query.id} type="button" title={query.text} onClick={() => add(query.id)}>
            Found: {query.text.length > 36 ? `${query.text.slice(0, 35)}…` : query.text}
          </button>
        ))}
      </div>
      {seen.pictures.some((one) => one.kind === "image") ? (
        <p class="quiet-text">
          A box that you draw on a picture (<kbd>m</kbd>) is added to the selected finding, or starts a new one.
        </p>
      ) : null}
    </fieldset>
  );
}

function labelOf(seen: CaseDetail, finding: DraftFinding, at: number): string {
  const query = seen.queries.find((one) => one.id === finding.query);
  return query ? `Finding ${at + 1}, on “${query.text}”` : `Finding ${at + 1}`;
}

interface PlacesProps {
  finding: DraftFinding;
  at: number;
  change: (finding: DraftFinding) => void;
  choose: (box: string) => void;
}

function Places({ finding, at, change, choose }: PlacesProps) {
  const without = (place: OwnPlace) => change({ ...finding, places: finding.places.filter((one) => one !== place) });
  const boxes = finding.places.map((place, p) => ({ place, p, box: boxOf(place) })).filter((one) => one.box);
  if (!boxes.length) return null;
  return (
    <ul class="case-places">
      {boxes.map(({ place, p, box }, n) => (
        <li key={p} class="row">
          <button type="button" class="quiet" onClick={() => choose(`own:${at}:${p}`)}>
            {place.picture} [{box ? [box.x1, box.y1, box.x2, box.y2].map(Math.round).join(", ") : ""}]
          </button>
          <input
            aria-label="Name of the region"
            placeholder="region, e.g. left lung"
            maxLength={200}
            value={place.label ?? ""}
            onInput={(event) => {
              const label = event.currentTarget.value;
              change({ ...finding, places: finding.places.map((one, other) => (other === p ? { ...one, label } : one)) });
            }}
          />
          <button type="button" class="quiet" onClick={() => without(place)} aria-label={`Remove box ${n + 1} of finding ${at + 1}`}>
            ✕
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Which picture a finding is said of. */
function PictureField({ films, finding, change }: { films: string[]; finding: DraftFinding; change: (finding: DraftFinding) => void }) {
  const own = finding.places.find((one) => one.kind === "whole")?.picture ?? "";
  const set = (name: string) => {
    const others = finding.places.filter((one) => one.kind !== "whole");
    change({ ...finding, places: name ? [wholePlace(name), ...others] : others });
  };
  return (
    <label class="row">
      <span class="quiet-text">seen in</span>
      <select value={own} onChange={(event) => set(event.currentTarget.value)}>
        <option value="">no single picture</option>
        {films.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function SliceFields({ name, finding, change }: { name: string; finding: DraftFinding; change: (finding: DraftFinding) => void }) {
  const own = finding.places.find((one) => one.kind === "slices");
  const [first, last] = own ? [String(own.first), String(own.last)] : ["", ""];
  const set = (from: string, until: string) => {
    const others = finding.places.filter((one) => one.kind !== "slices");
    const numbers = [from || until, until || from].map((text) => Math.min(100000, Math.max(0, Math.round(Number(text)))));
    const [a, b] = numbers;
    const none = (!from && !until) || a === undefined || b === undefined || Number.isNaN(a + b);
    change({ ...finding, places: none ? others : [...others, slicesPlace(name, a, b)] });
  };
  return (
    <span class="row">
      <span class="quiet-text">axial slices</span>
      <input class="case-slice" type="number" min={0} aria-label="First slice" value={first} onInput={(event) => set(event.currentTarget.value, last)} />
      <span>–</span>
      <input class="case-slice" type="number" min={0} aria-label="Last slice" value={last} onInput={(event) => set(first, event.currentTarget.value)} />
    </span>
  );
}
