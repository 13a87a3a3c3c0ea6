// What people are asked: how far they are, the way in, whether the log holds, how far they agree.
import { useState } from "preact/hooks";
import { useApi } from "../api/client";
import { Loading, Sheet, Tag, ErrorBox } from "../kit/kit";
import { formatNumber } from "../kit/numbers";
import { Link, to } from "../router";
import { useShelf } from "../shelf";
import { type ChainCheck, type QueueAgreement, type QueueProgress, type AgreementValue, queueApi } from "./types";

const COLUMNS = {
  questions: "questions",
  settled: "settled",
  by_third: "decided by a third",
  cannot_judge: "cannot judge",
  first: "not read yet",
  second: "waiting for a second",
  third: "waiting for a third",
} as const;

export function People({ build }: { build: string }) {
  const asked = useApi<QueueProgress>(queueApi(build, "progress"));
  if (asked.problem) return <ErrorBox problem={asked.problem} retry={asked.reload} />;
  if (!asked.data) return <Loading what="the questions" />;
  if (!asked.data.all.questions) return <p class="quiet-text">There are no questions for people here.</p>;
  return (
    <>
      <Progress build={build} progress={asked.data} />
      <Agreement build={build} />
      <Chain build={build} />
    </>
  );
}

function Progress({ build, progress }: { build: string; progress: QueueProgress }) {
  const { shelf } = useShelf();
  const { read_only, truth } = shelf.rights;
  const tools = read_only ? (
    <span class="quiet-text">This page is read-only: verdicts cannot be given here.</span>
  ) : !truth ? (
    <span class="quiet-text">The questions show the truth, which is withheld here.</span>
  ) : (
    <Link class="button builds-go" href={to("builds", build, "adjudicate")}>
      Adjudicate
    </Link>
  );
  const rows = [...Object.entries(progress.kinds), ...(Object.keys(progress.kinds).length > 1 ? [["all", progress.all] as const] : [])];
  return (
    <Sheet title="Questions for people" tools={tools}>
      <progress
        class="builds-progress"
        max={progress.all.questions}
        value={progress.all.settled}
        aria-label={`${progress.all.settled} of ${progress.all.questions} settled`}
      />
      <div class="scrolls" tabIndex={0} role="region" aria-label="Progress of the questions">
        <table>
          <thead>
            <tr>
              <th>kind</th>
              {Object.values(COLUMNS).map((title) => (
                <th key={title} class="number">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(([kind, tally]) => (
              <tr key={kind}>
                <td>{kind}</td>
                {Object.keys(COLUMNS).map((column) => (
                  <td key={column} class="number">
                    {tally[column as keyof typeof COLUMNS].toLocaleString("en")}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {progress.people.length ? (
        <div class="row builds-people">
          {progress.people.map((one) => (
            <Tag key={one.name}>
              {one.name}: {one.given} done, {one.left} left
            </Tag>
          ))}
        </div>
      ) : (
        <p class="quiet-text">No verdicts yet.</p>
      )}
      {progress.outdated ? (
        <p class="quiet-text">{progress.outdated} verdicts on questions that have changed since do not count.</p>
      ) : null}
      {progress.notes.map((note) => (
        <p key={note} class="quiet-text">
          {note}
        </p>
      ))}
    </Sheet>
  );
}

function Agreement({ build }: { build: string }) {
  const [open, setOpen] = useState(false);
  const { shelf } = useShelf();
  const asked = useApi<QueueAgreement>(open ? queueApi(build, "agreement") : null);
  if (!shelf.rights.truth) return null;
  return (
    <Sheet
      title="Agreement of the two reads"
      tools={
        open ? null : (
          <button type="button" onClick={() => setOpen(true)}>
            Show the agreement
          </button>
        )
      }
    >
      {open ? null : <p class="quiet-text">Do not open this while you are still reading: it shows how often readers differ.</p>}
      {asked.problem ? <ErrorBox problem={asked.problem} retry={asked.reload} /> : null}
      {open && asked.busy ? <Loading what="the agreement" /> : null}
      {asked.data ? <AgreementTable found={asked.data} /> : null}
    </Sheet>
  );
}

function AgreementTable({ found }: { found: QueueAgreement }) {
  const heads = ["", "questions", "agree", "kappa", "AC1", "alpha"];
  if (!found.groups.length && !found.judge?.length) return <p>No question has two reads yet.</p>;
  return (
    <>
      {found.groups.length ? (
        <div class="scrolls" tabIndex={0} role="region" aria-label="Agreement">
          <table>
            <thead>
              <tr>
                {heads.map((head) => (
                  <th key={head} class={head ? "number" : ""}>
                    {head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {found.groups.map((group) => (
                <tr key={`${group.kind} ${group.category}`}>
                  <td>{group.category === null ? <strong>{group.kind}</strong> : <>&emsp;{group.category}</>}</td>
                  <td class="number">
                    {group.questions}, {group.differ} differ
                  </td>
                  {[group.share, group.kappa, group.ac1, group.alpha].map((span, at) => (
                    <td key={at} class="number">
                      <Number span={span} />
                    </td>
                  ))}
                </tr>
              ))}
              {found.groups.flatMap((group) =>
                group.category === null && group.pairs.length > 1
                  ? group.pairs.map((pair) => (
                      <tr key={`${group.kind} ${pair.first} ${pair.second}`}>
                        <td>
                          {group.kind}: {pair.first} and {pair.second}
                        </td>
                        <td class="number">{pair.questions}</td>
                        <td class="number">
                          <Number span={pair.share} />
                        </td>
                        <td class="number">
                          <Number span={pair.kappa} />
                        </td>
                        <td />
                        <td />
                      </tr>
                    ))
                  : [],
              )}
            </tbody>
          </table>
        </div>
      ) : null}
      {found.judge?.length ? <JudgeTable found={found} /> : null}
      <p class="quiet-text">
        Of the two blinded reads, third reads aside; 95 % intervals over whole cases. Kappa is Cohen’s, AC1 Gwet’s, alpha Krippendorff’s.
      </p>
    </>
  );
}

function JudgeTable({ found }: { found: QueueAgreement }) {
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label="Agreement with the judge">
      <table>
        <thead>
          <tr>
            <th>against the judge</th>
            <th>kind</th>
            <th class="number">questions</th>
            <th class="number">cannot judge</th>
            <th class="number">agree</th>
            <th class="number">kappa</th>
          </tr>
        </thead>
        <tbody>
          {found.judge?.map((row) => (
            <tr key={`${row.kind} ${row.who}`}>
              <td>
                <strong>{row.who}</strong> and {row.judge}
              </td>
              <td>{row.kind}</td>
              <td class="number">{row.questions}</td>
              <td class="number">{row.cannot_judge}</td>
              <td class="number">
                <Number span={row.share} />
              </td>
              <td class="number">
                <Number span={row.kappa} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Number({ span }: { span: AgreementValue | null }) {
  if (span === null) return <>–</>;
  if (span.value === null) return <span class="quiet-text">undefined</span>;
  return (
    <>
      {formatNumber(span.value)}
      {span.low === null ? null : (
        <span class="quiet-text">
          {" "}
          ({formatNumber(span.low)} – {formatNumber(span.high)})
        </span>
      )}
    </>
  );
}

function Chain({ build }: { build: string }) {
  const asked = useApi<ChainCheck>(queueApi(build, "verify"));
  const found = asked.data;
  return (
    <Sheet title="The log of verdicts">
      {asked.problem ? <ErrorBox problem={asked.problem} retry={asked.reload} /> : null}
      {found ? (
        <>
          <p>
            {found.intact ? <Tag kind="good">log intact</Tag> : <Tag kind="bad">log damaged</Tag>}{" "}
            {found.lines.toLocaleString("en")} {found.lines === 1 ? "line is valid" : "lines are valid"}
            {found.intact ? "." : `; line ${found.broken} is not: ${found.why}.`}
          </p>
          {found.head ? (
            <p class="quiet-text">
              The last hash is <code class="builds-hash">{found.head}</code>: save it, to check later that no lines were cut off the end (
              <code>overread adjudicate DIR --verify --head …</code>).
            </p>
          ) : null}
          {found.torn ? <p class="quiet-text">{found.torn}</p> : null}
        </>
      ) : null}
    </Sheet>
  );
}
