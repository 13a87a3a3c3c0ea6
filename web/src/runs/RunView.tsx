// A run: how far it is, what it scores, and the cases behind every number.
import { useEffect, useState } from "preact/hooks";
import { type Schemas, apiUrl, send, useApi, toApiError } from "../api/client";
import { ApiError } from "../api/client";
import { CheckJudge } from "../builds/CheckJudge";
import { Crumbs } from "../crumbs";
import { Loading, type Tab, Tabs, Tag, ErrorBox } from "../kit/kit";
import { Link, to, useQuery } from "../router";
import type { ViewProps } from "../routes";
import { useShelf } from "../shelf";
import AboutRun from "./AboutRun";
import AuditTab from "./AuditTab";
import Breakdowns from "./Breakdowns";
import Calibration from "./Calibration";
import CaseTable from "./CaseTable";
import { MAX_COMPARED, compareUrl } from "./links";
import { formatCount } from "../kit/numbers";
import Problems from "./Problems";
import Scores from "./Scores";
import "./runs.css";

export type RunStatus = Schemas["RunStatus"];
export type Scorecard = Schemas["ScorecardSummary"];

const LIVE = 2000;
const STILL = 15_000;

export default function RunView({ parts }: ViewProps) {
  const id = parts["run"] ?? "";
  const [every, setEvery] = useState(STILL);
  const asked = useApi<RunStatus>(apiUrl(["runs", id]), every);
  const run = asked.data;
  const going = run !== null && (run.live || run.scoring?.state === "going" || run.scoring?.state === "waits");
  useEffect(() => setEvery(going ? LIVE : STILL), [going]);
  const scored = useApi<Scorecard>(run?.scored ? apiUrl(["runs", id, "card"]) : null);
  // Another scoring wrote another card.
  const written = run?.scored && !going ? `${run.scoring?.state} ${run.stale}` : "";
  useEffect(() => {
    if (written && scored.data) scored.reload();
  }, [written]);
  const [tab, setTab] = useQuery("tab", "scores");
  if (!run) return asked.problem ? <ErrorBox problem={asked.problem} retry={asked.reload} /> : <Loading what="the run" />;
  const tabs: Tab[] = [
    { id: "scores", title: "Scores", body: () => <ScoredTab run={run} scored={scored} show={(card) => <Scores run={run} card={card} />} onScoring={asked.reload} /> },
    { id: "breakdowns", title: "Breakdowns", body: () => <ScoredTab run={run} scored={scored} show={(card) => <Breakdowns run={run} card={card} />} onScoring={asked.reload} /> },
    { id: "cases", title: "Cases", body: () => <CaseTable run={run} card={scored.data} /> },
    { id: "calibration", title: "Calibration", body: () => <ScoredTab run={run} scored={scored} show={() => <Calibration run={run} />} onScoring={asked.reload} /> },
    { id: "audit", title: "Audit", body: () => <AuditTab run={run} /> },
    { id: "problems", title: problemsTitle(scored.data), body: () => <ScoredTab run={run} scored={scored} show={(card) => <Problems card={card} />} onScoring={asked.reload} /> },
    { id: "about", title: "About this run", body: () => <AboutRun run={run} /> },
  ];
  return (
    <div class="stack runs-view">
      <Crumbs trail={[{ text: run.name }]} />
      <div class="row runs-head">
        <h1>{run.name}</h1>
        <Tag>{run.title}</Tag>
        <Tag>{run.split}</Tag>
        {run.purpose && Object.keys(run.purpose).length ? <Tag kind="warn">part of a sweep or an audit</Tag> : null}
      </div>
      <Progress run={run} />
      <Siblings run={run} />
      <CheckJudge run={run.id} />
      <Tabs label="Parts of this run" tabs={tabs} open={tab} onOpen={setTab} />
    </div>
  );
}

function problemsTitle(card: Scorecard | null): string {
  const many = card ? card.problems.length + card.more_problems : 0;
  return many ? `Problems (${many.toLocaleString("en")})` : "Problems";
}

/** Progress of the run; it rises by itself while somebody writes it. */
function Progress({ run }: { run: RunStatus }) {
  const { usage } = run;
  const whole = run.asked !== null && run.read >= run.asked;
  const tokens = usage.input_tokens + usage.output_tokens;
  return (
    <div class="sheet runs-progress" aria-label="Progress of the run" role="group">
      <div class="row">
        {run.live ? <Tag kind="good">running</Tag> : whole ? <Tag kind={run.failed ? "warn" : "good"}>{run.failed ? "complete, with failures" : "complete"}</Tag> : run.asked === null ? <Tag>dataset not found</Tag> : <Tag kind="warn">stopped</Tag>}
        <span>
          <strong class="runs-read">{run.read.toLocaleString("en")}</strong>
          {run.asked !== null ? ` of ${formatCount(run.asked, "reading")}` : ` ${run.read === 1 ? "reading" : "readings"}`}
        </span>
        {run.failed ? (
          <Link href={`${to("runs", run.id)}?tab=cases&state=failed`}>
            <Tag kind="bad">{run.failed.toLocaleString("en")} failed {run.failed === 1 ? "reading" : "readings"}</Tag>
          </Link>
        ) : null}
        {run.damaged ? <Tag kind="bad">{formatCount(run.damaged, "damaged line")}</Tag> : null}
        {usage.calls ? <span class="quiet-text">{formatCount(usage.calls, "call")}</span> : null}
        {tokens ? <span class="quiet-text">{formatCount(tokens, "token")}</span> : null}
        {usage.seconds >= 0.05 ? <span class="quiet-text">{formatDuration(usage.seconds)} reading time</span> : null}
        {usage.cost !== null && usage.cost !== undefined ? <span class="quiet-text">cost {usage.cost.toFixed(2)}</span> : null}
      </div>
      {run.asked && !whole ? <progress value={run.read} max={run.asked} aria-label="Readings" /> : null}
    </div>
  );
}

function formatDuration(seconds: number): string {
  if (seconds < 90) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  return seconds < 5400 ? `${(seconds / 60).toFixed(0)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** Other runs on the same cases, one click from being compared. */
function Siblings({ run }: { run: RunStatus }) {
  const { shelf } = useShelf();
  const alike = shelf.runs.filter((one) => one.benchmark === run.benchmark && one.split === run.split && one.dataset === run.dataset && one.id !== run.id);
  if (!alike.length) return null;
  return (
    <div class="row">
      <span class="quiet-text">Compare with</span>
      {alike.slice(0, 6).map((one) => (
        <Link key={one.id} class="button" href={compareUrl([run.id, one.id])}>
          {one.name}
        </Link>
      ))}
      {alike.length > 1 ? (
        <Link class="button" href={compareUrl([run.id, ...alike.map((one) => one.id)].slice(0, MAX_COMPARED))}>
          all {Math.min(alike.length, MAX_COMPARED - 1)}
        </Link>
      ) : null}
    </div>
  );
}

interface ScoredProps {
  run: RunStatus;
  scored: ReturnType<typeof useApi<Scorecard>>;
  show: (card: Scorecard) => preact.ComponentChildren;
  onScoring: () => void;
}

/** What needs scores: shown where there are some, and offered where there are none. */
function ScoredTab({ run, scored, show, onScoring }: ScoredProps) {
  return (
    <div class="stack">
      {!run.scored || run.stale || run.scoring ? <ScoreButton run={run} onScoring={onScoring} /> : null}
      {run.scored ? (
        scored.data ? (
          show(scored.data)
        ) : scored.problem ? (
          <ErrorBox problem={scored.problem} retry={scored.reload} />
        ) : (
          <Loading what="the scores" />
        )
      ) : null}
    </div>
  );
}

function ScoreButton({ run, onScoring }: { run: RunStatus; onScoring: () => void }) {
  const { shelf } = useShelf();
  const [problem, setProblem] = useState<ApiError | null>(null);
  const now = run.scoring;
  const begin = async () => {
    try {
      await send("POST", apiUrl(["runs", run.id, "score"]));
      setProblem(null);
      onScoring();
    } catch (error) {
      setProblem(toApiError(error));
    }
  };
  if (now?.state === "going" || now?.state === "waits")
    return (
      <div class="sheet" role="status">
        <p>
          {now.state === "waits" ? "Scoring is queued behind another run." : "Scoring."} {now.of ? `${now.done.toLocaleString("en")} of ${formatCount(now.of, "case")} measured.` : ""}
        </p>
        <progress {...(now.of ? { value: now.done, max: now.of } : {})} aria-label="Scoring" />
      </div>
    );
  if (now?.state !== "failed" && run.scored && !run.stale) return null;
  return (
    <div class="sheet row">
      <span>
        {now?.state === "failed" ? `Scoring failed: ${now.problem}` : run.scored ? "There are new readings since the last scoring." : "This run is not scored yet."}
      </span>
      {run.read === 0 ? (
        <span class="quiet-text">It has no readings.</span>
      ) : shelf.rights.read_only ? (
        <span class="quiet-text">
          This page is read-only: run <code>overread score</code> on it.
        </span>
      ) : !shelf.rights.truth ? (
        <span class="quiet-text">The truth is withheld on this page, so it cannot be scored here.</span>
      ) : (
        <button type="button" class="chief" onClick={() => void begin()}>
          {run.scored ? "Score it again" : "Score it"}
        </button>
      )}
      {problem ? <ErrorBox problem={problem} /> : null}
    </div>
  );
}
