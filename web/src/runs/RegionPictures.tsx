// Where one reader saw what it says: its findings drawn on the picture, for the view of two readers.
import { apiUrl, useApi } from "../api/client";
import { type Row, type TracedReading, regionPictureUrl, rowsOf } from "../traces/rows";

const MOST = 6;

/** Pictures with a reader's places drawn in, findings first; nothing where it names none. */
export function RegionPictures({ run, name }: { run: string; name: string }) {
  const asked = useApi<TracedReading>(apiUrl(["runs", run, "cases", name]));
  const reading = asked.data;
  if (!reading) return null;
  const looks = drawableRegions(reading);
  if (!looks.length) return null;
  return (
    <>
      <h3>Where</h3>
      <div class="sbs-looks">
        {looks.slice(0, MOST).map(({ row, place, text }) => (
          <figure key={`${row.index}-${place}`}>
            <img class="film" src={regionPictureUrl(reading, row, place, { part: "whole" })} alt={`${reading.reader}: ${text}`} loading="lazy" />
            <figcaption class="quiet-text">{text}</figcaption>
          </figure>
        ))}
      </div>
      {looks.length > MOST ? <p class="quiet-text">and {looks.length - MOST} more in the trace</p> : null}
    </>
  );
}

interface DrawableRegion {
  row: Row;
  place: number;
  text: string;
}

/** Places of findings, or of steps where findings have none; whole pictures say nothing, and each place is shown once. */
export function drawableRegions(reading: Pick<TracedReading, "steps" | "findings">): DrawableRegion[] {
  const findings = rowsOf({ steps: [], findings: reading.findings });
  const found = withRegions(findings);
  return found.length ? found : withRegions(rowsOf({ steps: reading.steps, findings: [] }));
}

function withRegions(rows: Row[]): DrawableRegion[] {
  const seen = new Set<string>();
  const looks: DrawableRegion[] = [];
  for (const row of rows)
    row.regions.forEach((region, place) => {
      const same = JSON.stringify([region.picture, region.told]);
      if (region.kind === "whole" || !region.drawable || seen.has(same)) return;
      seen.add(same);
      looks.push({ row, place, text: region.told });
    });
  return looks;
}
