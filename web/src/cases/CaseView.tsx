// One case: its pictures, its words, one's own reading, and the truth when it is asked for.
import { Suspense, lazy } from "preact/compat";
import { useEffect, useState } from "preact/hooks";
import { type Schemas, apiUrl, useApi } from "../api/client";
import { Crumbs } from "../crumbs";
import { Loading, Sheet, ErrorBox } from "../kit/kit";
import { Link, go, to, useQuery } from "../router";
import type { ViewProps } from "../routes";
import { useShelf } from "../shelf";
import type { StageProps } from "../stage/Stage";
import { Films } from "./Films";
import { OwnForm } from "./OwnForm";
import { Readers } from "./Readers";
import { TruthSheet } from "./TruthSheet";
import { Words } from "./Words";
import { type Draft, EMPTY, asDraft, saveDraft, saveSawTruth, loadDraft, loadName, loadSawTruth } from "./draft";
import { useKeys } from "../kit/keys";
import { type CaseTruth, type PointedAt, markOf, ownBoxes, trueBoxes, withBox, withMovedBox } from "./marks";
import { pictureUrl, valuesUrl } from "./pictures";
import "./cases.css";

export type CaseDetail = Schemas["CaseDetail"];
export type CasePicture = Schemas["CasePicture"];
export type OwnReadingState = Schemas["OwnReadingState"];
export type CaseReader = Schemas["CaseReader"];

const CtPane = lazy(() => import("../ct/CtPane"));

export default function CaseView({ parts }: ViewProps) {
  const { shelf } = useShelf();
  const { dataset = "", split = "", case: id = "" } = parts;
  const asked = useApi<CaseDetail>(apiUrl(["cases", dataset, split, id]));
  const name = shelf.datasets.find((one) => one.id === dataset)?.name ?? dataset;
  const trail = [{ text: name, href: to("datasets", dataset, split) }, { text: split, href: to("datasets", dataset, split) }, { text: id }];
  return (
    <div class="case">
      <Crumbs trail={trail} />
      {asked.problem ? <ErrorBox problem={asked.problem} retry={asked.reload} /> : null}
      {asked.data ? <OneCase seen={asked.data} dataset={dataset} /> : asked.problem ? null : <Loading what="the case" />}
    </div>
  );
}

function OneCase({ seen, dataset }: { seen: CaseDetail; dataset: string }) {
  const { shelf } = useShelf();
  const { split, id } = seen;
  const place = [dataset, split, id];
  const writes = !shelf.rights.read_only;
  const [shown, setShown] = useState(false);
  const [sawTruth, setSawTruth] = useState(() => loadSawTruth(place));
  const truth = useApi<CaseTruth>(shown ? apiUrl(["cases", ...place, "truth"]) : null);
  const readers = useApi<CaseReader[]>(apiUrl(["cases", ...place, "readers"]));
  const shownTruth = shown ? truth.data : null;
  // Runs that the address names come first: whoever compares two readers comes with both.
  const [named] = useQuery("runs");
  const there = (readers.data ?? []).map((one) => one.run);
  const runs = [...named.split(",").filter((run) => there.includes(run)), ...there].filter((run, at, all) => all.indexOf(run) === at);
  const [lit, setLit] = useState<PointedAt | null>(null);
  const [full, setFull] = useState<string | null>(null);
  const [draft, setDraft] = useState<Draft>(() => loadDraft(place) ?? EMPTY);
  const [touched, setTouched] = useState(() => loadDraft(place) !== null);
  const [active, setActive] = useState<number | null>(null);
  const [chosen, setChosen] = useState<string | null>(null);
  const [name, setName] = useState(() => shelf.rights.user ?? loadName());
  const who = name.trim() || "person";
  const own = useApi<OwnReadingState>(writes ? apiUrl(["cases", ...place, "own"], { name: who }) : null);
  const [justSaved, setJustSaved] = useState<OwnReadingState | null>(null);

  // What was saved before is shown, unless something is being written.
  const mine = justSaved?.name === who ? justSaved : own.data;
  const kept = mine?.reading ?? null;
  useEffect(() => {
    if (kept && !touched) setDraft(asDraft(kept));
  }, [kept, touched]);
  const write = (next: Draft) => {
    setTouched(true);
    setDraft(next);
    saveDraft(place, next);
  };
  const saved = (now: OwnReadingState) => {
    saveDraft(place, null);
    setJustSaved(now);
    setTouched(false);
    readers.reload();
  };
  const reveal = () => {
    if (seen.truth === "withheld") return;
    setShown(!shown);
    setSawTruth(true);
    saveSawTruth(place);
    setLit(null);
  };
  const step = (other: string | null | undefined) => (other ? go(to("cases", dataset, split, other)) : undefined);

  const flat = seen.pictures.filter((one) => one.kind === "image");
  const volumes = seen.pictures.filter((one) => one.kind === "volume");
  useKeys((key) => {
    if (full !== null) return false;
    const letter = seen.options.find((one) => one.letter.toLowerCase() === key.toLowerCase());
    const nth = /^[1-9]$/.test(key) ? seen.options[Number(key) - 1] : undefined;
    // In a scan n and p are the next lesion and the three planes, wherever the focus is.
    if (key === "j" || (key === "n" && !volumes.length)) step(seen.next);
    else if (key === "k" || (key === "p" && !volumes.length)) step(seen.previous);
    else if (key === "t") reveal();
    else if (key === "f" && flat[0]) setFull(flat[0].name);
    else if (writes && (letter ?? nth)) write({ ...draft, choice: (letter ?? nth)?.letter ?? "" });
    else return false;
    return true;
  });

  /** Everything a stage needs to show one picture. */
  const stageOf = (picture: CasePicture): StageProps => ({
    src: pictureUrl(dataset, split, id, picture.name),
    alt: picture.name,
    width: picture.width ?? 4,
    height: picture.height ?? 3,
    problem: picture.problem,
    values: picture.deep ? valuesUrl(dataset, split, id, picture.name) : undefined,
    boxes: [...trueBoxes(shownTruth, picture.name, lit), ...ownBoxes(draft, picture.name, chosen)],
    onChoose: (box) => {
      const mark = markOf(box);
      setChosen(mark ? box : null);
      if (mark) setActive(mark.finding);
    },
    ...(writes
      ? {
          onDraw: (box) => {
            const made = withBox(draft, active, picture.name, box, flat.length > 1);
            write(made.draft);
            setActive(made.at);
            setChosen(`own:${made.at}:${(made.draft.findings[made.at]?.places.length ?? 1) - 1}`);
          },
          onChange: (box, moved) => {
            const mark = markOf(box);
            if (mark) write(withMovedBox(draft, mark, moved));
          },
        }
      : {}),
  });

  return (
    <>
      <div class="case-head row">
        <h1>{id}</h1>
        <span class="quiet-text">
          case {seen.place} of {seen.count}
        </span>
        <nav class="row" aria-label="Other cases">
          <Step to={seen.previous} dataset={dataset} split={split} text="Previous" hint="k" />
          <Step to={seen.next} dataset={dataset} split={split} text="Next" hint="j" />
        </nav>
        <TruthButton seen={seen} shown={shown} reveal={reveal} />
      </div>
      <div class={`case-columns${volumes.length ? " volume" : ""}`}>
        <div class="stack case-pictures">
          {volumes.map((volume) =>
            volume.problem ? (
              <p key={volume.name} class="film case-missing">
                {volume.problem}.
              </p>
            ) : (
              <Suspense key={volume.name} fallback={<Loading what="the volume" />}>
                <CtPane
                  dataset={dataset}
                  split={split}
                  case={id}
                  picture={volume.name}
                  truth={shown}
                  finding={shown && !lit?.key.startsWith("step") ? lit?.key : undefined}
                  runs={shown ? runs : []}
                />
              </Suspense>
            ),
          )}
          <Films pictures={flat} stageOf={stageOf} truth={shownTruth} full={full} onFull={setFull} note={writes ? <Note draft={draft} at={active} write={write} /> : null} />
          {seen.pictures.length ? null : <p class="film case-missing">This case has no pictures.</p>}
        </div>
        <div class="stack case-words">
          <Words seen={seen} draft={draft} write={writes ? write : null} truth={shownTruth} />
          {shown ? <TruthSheet seen={seen} asked={truth} pointedAt={lit} onPoint={setLit} choice={draft.choice} /> : null}
          {writes ? (
            <OwnForm
              seen={seen}
              place={place}
              draft={draft}
              write={write}
              active={active}
              onActive={(at, box) => {
                setActive(at);
                setChosen(box);
              }}
              name={name}
              onName={setName}
              user={shelf.rights.user ?? null}
              sawTruth={sawTruth || (kept?.saw_truth ?? false)}
              kept={mine}
              unsaved={touched}
              onSaved={saved}
              onCompare={shown || seen.truth !== "there" ? null : reveal}
            />
          ) : (
            <Sheet title="Your reading">
              <p>This page is read-only: readings cannot be saved here.</p>
            </Sheet>
          )}
          <Readers asked={readers} id={id} />
        </div>
      </div>
    </>
  );
}

function Step({ to: other, dataset, split, text, hint }: { to: string | null; dataset: string; split: string; text: string; hint: string }) {
  const label = (
    <>
      {text} <kbd>{hint}</kbd>
    </>
  );
  if (!other)
    return (
      <button type="button" disabled>
        {label}
      </button>
    );
  return (
    <Link class="button" href={to("cases", dataset, split, other)}>
      {label}
    </Link>
  );
}

/** The words of the finding that is being written, at hand in the full-size view. */
function Note({ draft, at, write }: { draft: Draft; at: number | null; write: (draft: Draft) => void }) {
  const own = at === null ? undefined : draft.findings[at];
  if (!own || at === null) return null;
  const set = (text: string) => write({ ...draft, findings: draft.findings.map((one, n) => (n === at ? { ...one, text } : one)) });
  return (
    <label class="case-note">
      <span>Finding {at + 1}</span>
      <input maxLength={4000} placeholder="What you see, and where" value={own.text} onInput={(event) => set(event.currentTarget.value)} />
    </label>
  );
}

function TruthButton({ seen, shown, reveal }: { seen: CaseDetail; shown: boolean; reveal: () => void }) {
  if (seen.truth === "withheld") return <span class="tag warn">The truth is withheld on this page</span>;
  return (
    <button type="button" class={shown ? "" : "chief"} aria-pressed={shown} onClick={reveal}>
      {shown ? "Hide the truth" : "Show the truth"} <kbd>t</kbd>
    </button>
  );
}
