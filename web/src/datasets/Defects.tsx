// What `overread check` finds in a split, kind by kind, while the check goes on.
import { useEffect, useState } from "preact/hooks";
import { apiUrl, get, type ApiError, type Schemas, useApi, toApiError } from "../api/client";
import { Crumbs } from "../crumbs";
import { Empty, Tag, ErrorBox } from "../kit/kit";
import { formatCount } from "../kit/numbers";
import { Link, to, useQuery } from "../router";
import type { ViewProps } from "../routes";
import { useShelf } from "../shelf";
import "./defects.css";

type DefectList = Schemas["DefectList"];
type DefectGroup = Schemas["DefectGroup"];
type DefectLine = Schemas["DefectLine"];
type DefectLines = Schemas["DefectLines"];

const POLL = 700;

export default function Defects({ parts }: ViewProps) {
  const dataset = parts["dataset"] ?? "";
  const split = parts["split"] ?? "";
  const { shelf } = useShelf();
  const name = shelf.datasets.find((one) => one.id === dataset)?.name ?? dataset;
  return (
    <div class="stack">
      <Crumbs trail={[{ text: name, href: to("datasets", dataset, split) }, { text: split, href: to("datasets", dataset, split) }, { text: "Defects" }]} />
      <div class="row">
        <h1 style={{ margin: 0 }}>Defects of {name}, {split}</h1>
        <Link class="button" href={to("datasets", dataset, split)}>
          Back to the cases
        </Link>
      </div>
      {shelf.rights.truth ? (
        <DefectResults dataset={dataset} split={split} />
      ) : (
        <Empty title="Defects quote what is in the rows, and the truth is withheld on this page" />
      )}
    </div>
  );
}

function DefectResults({ dataset, split }: { dataset: string; split: string }) {
  const [opens, setOpens] = useQuery("pictures");
  const open_pictures = opens === "1" ? 1 : 0;
  const [finished, setFinished] = useState(false);
  useEffect(() => setFinished(false), [open_pictures]);
  const address = ["datasets", dataset, split, "defects"];
  const asked = useApi<DefectList>(apiUrl(address, { open_pictures }), finished ? 0 : POLL);
  const list = asked.data;
  useEffect(() => {
    if (list?.finished) setFinished(true);
  }, [list?.finished]);
  const checkAgain = async () => {
    await get<DefectList>(apiUrl(address, { open_pictures, again: 1 }));
    setFinished(false);
    asked.reload();
  };
  if (asked.problem && !list) return <ErrorBox problem={asked.problem} retry={asked.reload} />;
  return (
    <>
      <div class="sheet defects-head">
        <div class="row">
          <label class="row" style={{ gap: "0.4rem" }}>
            <input type="checkbox" checked={open_pictures === 1} onChange={(event) => setOpens(event.currentTarget.checked ? "1" : "")} />
            Open every picture too (takes longer)
          </label>
          <button type="button" disabled={!finished} onClick={() => void checkAgain()}>
            Check again
          </button>
        </div>
        {list ? <Progress list={list} /> : <p role="status">Starting the check …</p>}
      </div>
      {list?.problem ? <p class="sheet trouble">{list.problem}</p> : null}
      {list?.finished && !list.groups.length && !list.problem ? <Empty title="No defects found in this split" /> : null}
      {list?.groups.map((group) => <Group key={group.code} group={group} dataset={dataset} split={split} open_pictures={open_pictures} />)}
    </>
  );
}

function Progress({ list }: { list: DefectList }) {
  return (
    <div class="stack" style={{ gap: "0.3rem" }}>
      <p role="status" style={{ margin: 0 }}>
        {list.finished ? "Checked" : "Checking"}: {list.done.toLocaleString("en")}
        {list.total === null ? "" : ` of ${list.total.toLocaleString("en")}`} rows.{" "}
        <strong>
          {formatCount(list.errors, "error")}, {formatCount(list.warnings, "warning")}
        </strong>
        {list.finished ? "." : " so far."}
      </p>
      {list.finished ? null : <progress aria-label="Rows that were checked" max={list.total || 1} value={Math.min(list.done, list.total || 1)} />}
    </div>
  );
}

interface GroupProps {
  group: DefectGroup;
  dataset: string;
  split: string;
  open_pictures: number;
}

function Group({ group, dataset, split, open_pictures }: GroupProps) {
  const [more, setMore] = useState<DefectLine[]>([]);
  const [problem, setProblem] = useState<ApiError | null>(null);
  const lines = [...group.first, ...more];
  const showMore = async () => {
    try {
      const query = { code: group.code, offset: lines.length, limit: 200, open_pictures };
      const next = await get<DefectLines>(apiUrl(["datasets", dataset, split, "defects", "lines"], query));
      setMore((before) => [...before, ...next.lines]);
      setProblem(null);
    } catch (error) {
      setProblem(toApiError(error));
    }
  };
  return (
    <details class="sheet" open={group.severity === "error" || group.count <= 20}>
      <summary class="defects-kind">
        <Tag kind={group.severity === "error" ? "bad" : "warn"}>{group.severity}</Tag> <strong>{group.code}</strong>{" "}
        <span class="quiet-text">{group.meaning}</span> <span class="defects-count">{group.count.toLocaleString("en")}</span>
      </summary>
      <div class="scrolls" tabIndex={0} role="region" aria-label={`Defects: ${group.code}`}>
        <table class="defects-table">
          <thead>
            <tr>
              <th>Case</th>
              <th>Where</th>
              <th>What</th>
            </tr>
          </thead>
          <tbody>
            {lines.map((line, at) => (
              <tr key={at}>
                <td>{line.case === null ? "–" : line.there ? <Link href={to("cases", dataset, split, line.case)}>{line.case}</Link> : line.case}</td>
                <td>{line.where}</td>
                <td>{line.told}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {problem ? <ErrorBox problem={problem} /> : null}
      {lines.length < group.count ? (
        <button type="button" onClick={() => void showMore()}>
          Show more ({lines.length.toLocaleString("en")} of {group.count.toLocaleString("en")})
        </button>
      ) : null}
    </details>
  );
}
