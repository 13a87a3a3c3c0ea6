// One case as several runs read it: answers, findings, reports and scores in columns.
import { useState } from "preact/hooks";
import { type Schemas, apiUrl, useApi } from "../api/client";
import { useKeys } from "../kit/keys";
import { Crumbs } from "../crumbs";
import { Loading, Sheet, Tag, ErrorBox, TextSection } from "../kit/kit";
import { RegionPictures } from "./RegionPictures";
import { Link, to, useQuery } from "../router";
import type { ViewProps } from "../routes";
import { useShelf } from "../shelf";
import { compareUrl, traceUrl } from "./links";
import { ARROWS, formatCount, formatScore } from "../kit/numbers";
import { MIN_SHARED, diffWords, sharedFraction } from "./word_diff";
import "./runs.css";

type ComparedCase = Schemas["SideBySide"];
type Reading = Schemas["ComparedReading"];
type Truth = Schemas["ComparedTruth"];

export default function SideBySide({ parts }: ViewProps) {
  const { shelf } = useShelf();
  const name = parts["case"] ?? "";
  const [given] = useQuery("runs");
  const ids = given.split(",").filter(Boolean);
  const [asking, setAsking] = useState(false);
  const asked = useApi<ComparedCase>(ids.length > 1 ? apiUrl(["compare", "cases", name], { runs: given }) : null);
  const truth = useApi<Truth>(asking ? apiUrl(["compare", "cases", name, "truth"], { runs: given }) : null);
  const found = asked.data;
  useKeys((key) => {
    if (key !== "t" || !shelf.rights.truth) return false;
    setAsking(!asking);
    return true;
  });
  if (ids.length < 2)
    return (
      <>
        <Crumbs trail={[{ text: name }]} />
        <p>
          Two runs are needed: <Link href="/compare">choose them</Link>.
        </p>
      </>
    );
  if (!found) return asked.problem ? <ErrorBox problem={asked.problem} retry={asked.reload} /> : <Loading what="the readings" />;
  const first = found.readings[0];
  return (
    <div class="stack runs-view">
      <Crumbs trail={[{ text: "Compare runs", href: compareUrl(ids) }, { text: name }]} />
      <div class="row">
        <h1 style={{ margin: 0 }}>{name}</h1>
        <Tag>{found.benchmark}</Tag>
        <Tag>{found.split}</Tag>
        {found.dataset ? (
          <Link class="button" href={`${to("cases", found.dataset, found.split, name)}?${new URLSearchParams({ runs: given }).toString()}`}>
            {found.volume ? "Open in the CT viewer" : "Open the pictures"}
          </Link>
        ) : null}
        {shelf.rights.truth ? (
          <button type="button" aria-pressed={asking} onClick={() => setAsking(!asking)}>
            {asking ? "Hide the truth" : "Show the truth"} <kbd>t</kbd>
          </button>
        ) : null}
      </div>
      <CaseText found={found} />
      {truth.problem && asking ? <ErrorBox problem={truth.problem} /> : null}
      <div class="sbs-columns">
        {asking && truth.data ? <TruthColumn truth={truth.data} found={found} /> : null}
        {found.readings.map((reading, at) => (
          <ReadingColumn key={reading.run} reading={reading} other={(at === 0 ? found.readings[1] : first) ?? reading} found={found} />
        ))}
      </div>
      {found.volume && found.query_ids.length ? <Overlap name={name} runs={given} found={found} /> : null}
      <Values found={found} />
    </div>
  );
}

function CaseText({ found }: { found: ComparedCase }) {
  const chosen = (letter: string) => found.readings.filter((reading) => reading.choice === letter);
  return (
    <Sheet title="Case text">
      {found.history ? <p>{found.history}</p> : null}
      {found.instruction ? <p>{found.instruction}</p> : null}
      <Pictures found={found} />
      {found.options.length ? (
        <ul class="sbs-list" style={{ listStyle: "none", paddingLeft: 0 }}>
          {found.options.map((option) => (
            <li key={option.letter}>
              <strong>{option.letter}</strong> {option.text}{" "}
              {chosen(option.letter).map((reading) => (
                <Tag key={reading.run}>{reading.name}</Tag>
              ))}
            </li>
          ))}
        </ul>
      ) : null}
      {found.queries.length ? (
        <ol class="sbs-list" start={0}>
          {found.queries.map((query, at) => (
            <li key={at}>{query}</li>
          ))}
        </ol>
      ) : null}
    </Sheet>
  );
}

function Pictures({ found }: { found: ComparedCase }) {
  const [broken, setBroken] = useState<Record<string, boolean>>({});
  const { dataset, split } = found;
  if (!dataset) return null;
  if (found.volume)
    return (
      <div class="sbs-pictures">
        <Link href={to("cases", dataset, split, found.case)}>
          <img src={apiUrl(["datasets", dataset, split, "thumbs", found.case])} alt="One slice of the CT" loading="lazy" />
        </Link>
      </div>
    );
  const shown = found.pictures.filter((picture) => !broken[picture]).slice(0, 12);
  if (!shown.length) return null;
  return (
    <div class="sbs-pictures">
      {shown.map((picture) => (
        <Link key={picture} href={to("cases", dataset, split, found.case)}>
          <img src={apiUrl(["pictures", dataset, split, found.case, picture], { longest: 240 })} alt={picture} loading="lazy" onError={() => setBroken({ ...broken, [picture]: true })} />
        </Link>
      ))}
    </div>
  );
}

function TruthColumn({ truth, found }: { truth: Truth; found: ComparedCase }) {
  return (
    <section class="sheet" aria-label="The truth">
      <h2>The truth</h2>
      {truth.answer || truth.answer_text ? (
        <p>
          <strong>{truth.answer}</strong> {truth.answer_text ?? found.options.find((option) => option.letter === truth.answer)?.text}
        </p>
      ) : null}
      {truth.findings.length ? (
        <>
          <h3>Findings</h3>
          <ul class="sbs-list">
            {truth.findings.map((finding, at) => (
              <li key={at}>{finding}</li>
            ))}
          </ul>
        </>
      ) : null}
      <TextSection title="Report" text={truth.report} />
    </section>
  );
}

function ReadingColumn({ reading, other, found }: { reading: Reading; other: Reading; found: ComparedCase }) {
  const option = found.options.find((one) => one.letter === reading.choice);
  const looks = reading.steps.filter((step) => step.kind === "look").length;
  return (
    <section class="sheet" aria-label={reading.name}>
      <div class="row" style={{ justifyContent: "space-between" }}>
        <h2>{reading.name}</h2>
        <Link href={traceUrl(reading.run, found.case)} aria-label={`The trace of ${reading.name}`}>
          trace
        </Link>
      </div>
      <p class="quiet-text">
        {reading.reader}
        {reading.workflow ? `, ${reading.workflow}` : ""}
        {reading.steps.length ? ` · ${formatCount(reading.steps.length, "step")}, ${formatCount(looks, "look")}` : ""}
        {reading.usage ? ` · ${formatCount(reading.usage.input_tokens + reading.usage.output_tokens, "token")}` : ""}
      </p>
      {reading.state === "read" ? null : (
        <p>
          <Tag kind="bad">{reading.state}</Tag> {reading.error}
        </p>
      )}
      {reading.choice ? (
        <p>
          <strong>{reading.choice}</strong> {option?.text}
          {reading.probabilities ? <span class="quiet-text"> {Object.entries(reading.probabilities).map(([letter, share]) => `${letter} ${Math.round(share * 100)} %`).join(", ")}</span> : null}
        </p>
      ) : null}
      {reading.state === "read" ? <RegionPictures run={reading.run} name={found.case} /> : null}
      <DiffText title="Rationale" text={reading.rationale} other={other.rationale} of={other.name} />
      <DiffText title="Report" text={reading.report} other={other.report} of={other.name} />
      {reading.findings?.length ? (
        <>
          <h3>Findings</h3>
          <ul class="sbs-list">
            {reading.findings.map((finding, at) => (
              <li key={at}>
                {finding.query !== null ? <Tag>{finding.query}</Tag> : null} {finding.text}
                {finding.places ? <span class="quiet-text"> ({formatCount(finding.places, "place")})</span> : null}
              </li>
            ))}
          </ul>
        </>
      ) : null}
      <DiffText title="Discussion" text={reading.discussion} other={other.discussion} of={other.name} />
      {reading.steps.length ? (
        <details>
          <summary>{formatCount(reading.steps.length, "step")}</summary>
          <ol class="sbs-list">
            {reading.steps.map((step, at) => (
              <li key={at}>
                <Tag>{step.kind}</Tag> {step.text.slice(0, 300)}
                {step.text.length > 300 ? "…" : ""}
              </li>
            ))}
          </ol>
        </details>
      ) : null}
    </section>
  );
}

/** A text, with the words underlined that the other does not have. */
function DiffText({ title, text, other, of }: { title: string; text: string | null | undefined; other: string | null | undefined; of: string }) {
  if (!text) return null;
  const pieces = other ? diffWords(text, other) : [];
  const alike = other ? Math.max(sharedFraction(pieces), sharedFraction(diffWords(other, text))) >= MIN_SHARED : false;
  return (
    <>
      <h3>{title}</h3>
      <p class="long-text sbs-words">{alike ? pieces.map((piece, at) => (piece.only ? <mark key={at}>{piece.text}</mark> : piece.text)) : text}</p>
      {other ? <p class="quiet-text">{alike ? `Underlined: not in the text of ${of}.` : `Few words in common with ${of}.`}</p> : null}
    </>
  );
}

function Overlap({ name, runs, found }: { name: string; runs: string; found: ComparedCase }) {
  const asked = useApi<Schemas["MaskOverlap"][]>(apiUrl(["compare", "cases", name, "masks"], { runs }));
  const title = `How far the masks of ${found.readings[0]?.name} and ${found.readings[1]?.name} overlap`;
  if (!asked.data) return asked.problem ? <p class="quiet-text">The masks cannot be compared: {asked.problem.message}.</p> : <Loading what="the masks" />;
  return (
    <Sheet title={title}>
      <div class="scrolls" tabIndex={0} role="region" aria-label={title}>
        <table>
          <thead>
            <tr>
              <th scope="col">Sentence</th>
              <th scope="col" class="number">
                Dice
              </th>
            </tr>
          </thead>
          <tbody>
            {asked.data.map((one) => (
              <tr key={one.query}>
                <th scope="row">{one.text || one.query}</th>
                <td class="number">{formatScore(one.dice)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Sheet>
  );
}

/** What the case scores; that tells the truth, so it is shown when asked for. */
function Values({ found }: { found: ComparedCase }) {
  if (!found.metrics.length) return null;
  const plain = found.metrics.filter((one) => !one.name.startsWith("ceiling_"));
  return (
    <details class="sheet">
      <summary>Scores of this case (reveals the truth)</summary>
      <div class="scrolls" tabIndex={0} role="region" aria-label="Scores of this case">
        <table>
          <thead>
            <tr>
              <th scope="col">Score</th>
              {found.readings.map((reading) => (
                <th key={reading.run} scope="col" class="number">
                  {reading.name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {plain.map((one) => (
              <tr key={one.name}>
                <th scope="row" title={one.about}>
                  {one.name} {ARROWS[one.better]}
                </th>
                {found.readings.map((reading) => (
                  <td key={reading.run} class="number">
                    {formatScore(reading.values[one.name])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
