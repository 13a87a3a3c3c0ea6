// The pictures of the case with everything that was looked at, and what the chosen step looks at.
import { apiUrl } from "../api/client";
import { Field } from "../kit/kit";
import { Link, to } from "../router";
import { Stage } from "../stage/Stage";
import { type MarkedRow, type Row, type TracedReading, boxesOn, regionPictureUrl, rowOfBox } from "./rows";

interface Chosen {
  row: Row;
  place: number;
}

interface PicturePaneProps {
  reading: TracedReading;
  rows: Row[];
  referenceRows: Row[];
  chosen: Chosen | null;
  /** The step of the reference that is lit. */
  counterpart: Row | null;
  picture: string;
  onPicture: (name: string) => void;
  onChoose: (number: number, truth: boolean) => void;
  window: string;
  onWindow: (name: string) => void;
  close: boolean;
  onClose: (close: boolean) => void;
}

export function PicturePane(props: PicturePaneProps) {
  const { reading, picture, onPicture } = props;
  const shown = reading.pictures.find((one) => one.name === picture) ?? reading.pictures[0];
  if (!shown)
    return (
      <p class="sheet trouble">
        The dataset of this run was not found, so no pictures can be shown. Start the page with <code>--root</code> and its current folder.
      </p>
    );
  return (
    <div class="stack">
      {reading.pictures.length > 1 ? (
        <div class="row trace-pictures" role="group" aria-label="Pictures">
          {reading.pictures.map((one) => (
            <button key={one.name} type="button" aria-pressed={one === shown} onClick={() => onPicture(one.name)}>
              {one.name}
              {one.timepoint !== null ? ` (time ${one.timepoint})` : ""}
            </button>
          ))}
        </div>
      ) : null}
      {shown.problem ? (
        <p class="sheet trouble">
          {shown.name}: {shown.problem}
        </p>
      ) : shown.kind === "volume" ? (
        <InVolume {...props} name={shown.name} />
      ) : (
        <OnFilm {...props} name={shown.name} width={shown.width ?? 1} height={shown.height ?? 1} />
      )}
      {reading.dataset ? (
        <Link href={to("cases", reading.dataset, reading.split, reading.case)}>Open the case</Link>
      ) : null}
    </div>
  );
}

function OnFilm({ reading, rows, referenceRows, chosen, counterpart, onChoose, close, onClose, name, width, height }: PicturePaneProps & { name: string; width: number; height: number }) {
  const marked: MarkedRow[] = [
    ...rows.map((row) => ({ row, truth: false, chosen: row === chosen?.row })),
    ...referenceRows.filter((row) => row === counterpart).map((row) => ({ row, truth: true, chosen: true })),
  ];
  const boxes = boxesOn(name, marked);
  const region = chosen?.row.regions[chosen.place];
  const box = region?.picture === name && region.drawable ? region.box : null;
  return (
    <>
      <Stage
        src={apiUrl(["pictures", reading.dataset ?? "", reading.split, reading.case, name])}
        alt={`${name} of ${reading.case}`}
        width={width}
        height={height}
        boxes={boxes}
        tools
        onChoose={(id) => {
          const found = rowOfBox(id);
          if (found) onChoose(found.number, found.truth);
        }}
        focus={close && box ? { x1: box[0] ?? 0, y1: box[1] ?? 0, x2: box[2] ?? 0, y2: box[3] ?? 0 } : undefined}
      />
      <div class="row">
        <label class="row trace-check">
          <input type="checkbox" checked={close} onChange={(event) => onClose(event.currentTarget.checked)} /> Zoom to the region of the step <kbd>z</kbd>
        </label>
        {counterpart ? <span class="quiet-text">solid yellow: the reference</span> : null}
      </div>
    </>
  );
}

function InVolume({ reading, rows, chosen, counterpart, window, onWindow, name }: PicturePaneProps & { name: string }) {
  const first = rows.flatMap((row) => row.regions.map((region, place) => ({ row, place, region }))).find((one) => one.region.drawable && one.region.picture === name);
  const own = chosen && chosen.row.regions[chosen.place]?.drawable ? chosen : null;
  const look = own ?? first ?? null;
  const region = look?.row.regions[look.place];
  const theirs = counterpart?.regions.findIndex((one) => one.drawable && one.picture === name) ?? -1;
  return (
    <>
      {look && region ? (
        <figure class="trace-slice">
          <img class="film" src={regionPictureUrl(reading, look.row, look.place, { part: "whole", window })} alt={`Step ${look.row.number}: ${region.told}`} />
          <figcaption class="quiet-text">
            {own ? "" : "This step names no region; the first region is shown. "}Step {look.row.number}: {region.told}
            {region.kind === "mask" ? ", the slice where the mask is largest" : region.kind === "slices" || region.kind === "voxels" ? ", the middle slice" : ""}
          </figcaption>
        </figure>
      ) : (
        <p class="quiet-text">This reading names no region in {name}.</p>
      )}
      {counterpart && theirs >= 0 ? (
        <figure class="trace-slice">
          <img class="film" src={regionPictureUrl(reading, counterpart, theirs, { part: "whole", truth: true, window, against: own?.row })} alt={`Reference: ${counterpart.text}`} />
          <figcaption class="quiet-text">Reference {counterpart.number} in yellow,{counterpart.regions[theirs]?.kind === "mask" ? ` on the slice where its mask is largest${own ? "; the reader's mask in blue" : ""}` : ` on its middle slice`}</figcaption>
        </figure>
      ) : null}
      <Field label="Window">
        <select value={window} onChange={(event) => onWindow(event.currentTarget.value)}>
          <option value="lung">lung</option>
          <option value="mediastinum">mediastinum</option>
          <option value="bone">bone</option>
        </select>
      </Field>
    </>
  );
}
