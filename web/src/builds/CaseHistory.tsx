// All that is on record of one case of a build: what each step decided, why, and what models said.
import { useState } from "preact/hooks";
import { apiUrl, useApi } from "../api/client";
import { Crumbs } from "../crumbs";
import { Loading, Sheet, Tag, ErrorBox, Verbatim } from "../kit/kit";
import { to, useAddress } from "../router";
import type { ViewProps } from "../routes";
import { diffWords } from "../runs/word_diff";
import { useBuildName } from "../shelf";
import { buildCasesUrl } from "./links";
import { OUTCOME_TAGS } from "./outcomes";
import { ShownData, Value, isNothing } from "./ShownData";
import type { BuildAnswer, BuildChange, BuildDecision, BuildHistory } from "./types";
import "./builds.css";

export default function CaseHistory({ parts }: ViewProps) {
  const build = parts.build ?? "";
  const { query } = useAddress();
  const id = query.get("case") ?? "";
  const name = useBuildName(build);
  const asked = useApi<BuildHistory>(id ? apiUrl(["builds", build, "history"], { case: id }) : null);
  const trail = [{ text: name, href: to("builds", build) }, { text: "Cases", href: buildCasesUrl(build) }, { text: id }];
  return (
    <div class="stack">
      <Crumbs trail={trail} />
      <h1 style={{ margin: 0, overflowWrap: "anywhere" }}>{id || "No case chosen"}</h1>
      {asked.problem ? <ErrorBox problem={asked.problem} retry={asked.reload} /> : null}
      {asked.data ? <HistoryBody found={asked.data} /> : id && !asked.problem ? <Loading what="the history" /> : null}
    </div>
  );
}

function HistoryBody({ found }: { found: BuildHistory }) {
  const [old, setOld] = useState(false);
  const outdated = found.decisions.filter((one) => !one.current).length;
  const shown = old ? found.decisions : found.decisions.filter((one) => one.current);
  return (
    <>
      {found.patient ? <p style={{ margin: 0 }}>Patient {found.patient}</p> : null}
      {found.defects.map((defect) => (
        <p key={defect}>
          <Tag kind="bad">source defect</Tag> {defect}
        </p>
      ))}
      <div class="history">
        <Sheet
          title="Decisions"
          tools={
            outdated ? (
              <label>
                <input type="checkbox" checked={old} onChange={(event) => setOld(event.currentTarget.checked)} /> show {outdated} outdated decisions
              </label>
            ) : null
          }
        >
          {shown.length ? (
            <ol class="history-steps">
              {shown.map((one, at) => (
                <Decision key={at} one={one} />
              ))}
            </ol>
          ) : (
            <p class="quiet-text">No step has processed this case yet.</p>
          )}
        </Sheet>
        <div class="stack">
          <Sheet title="Final data">
            <ShownData shown={found.now} none="Nothing." />
          </Sheet>
          <Sheet>
            <details>
              <summary>Source data</summary>
              <ShownData shown={found.source} none="Empty, or no longer in the source." />
            </details>
          </Sheet>
        </div>
      </div>
    </>
  );
}

function Decision({ one }: { one: BuildDecision }) {
  return (
    <li>
      <div class="row">
        <strong>{one.step}</strong>
        <Tag kind={OUTCOME_TAGS[one.outcome] ?? ""}>{one.outcome}</Tag>
        {one.reason ? <Tag>{one.reason}</Tag> : null}
        {one.current ? null : <Tag kind="warn">outdated</Tag>}
        <span class="quiet-text">
          {one.by ? `by ${one.by}, ` : ""}
          {one.at.slice(0, 19).replace("T", " ")} UTC
        </span>
      </div>
      {one.why ? <p>{one.why}</p> : null}
      {one.changes.map((change, at) => (
        <Changed key={at} change={change} />
      ))}
      {!one.changes.length && one.outcome === "kept" && one.new.length ? <p class="quiet-text">New: {one.new.join(", ")}.</p> : null}
      {one.people.map((asked) => (
        <p key={asked.question} class="quiet-text">
          People on {asked.question}: {asked.verdict ?? "undecided at the time"}
          {asked.corrected ? `; corrected to: ${asked.corrected}` : ""}
        </p>
      ))}
      {one.answers.map((answer, at) => (
        <Answer key={at} answer={answer} />
      ))}
    </li>
  );
}

function Changed({ change }: { change: BuildChange }) {
  const { before, after } = change;
  return (
    <div class="history-change">
      <div>
        <strong>{change.what}</strong>{" "}
        <span class="quiet-text">
          by {change.by}
          {change.why ? `: ${change.why}` : ""}
        </span>
      </div>
      {typeof before === "string" && typeof after === "string" && before !== after ? (
        <Edited before={before} after={after} />
      ) : JSON.stringify(before) === JSON.stringify(after) ? (
        isNothing(before) ? null : <Value value={before} listed /> // a note on what was left as it was, or on nothing at all
      ) : areWords(before) && areWords(after) ? (
        <Listed before={before} after={after} />
      ) : (
        <>
          {isNothing(before) ? null : (
            <del>
              <Value value={before} listed />
            </del>
          )}
          {isNothing(after) ? null : <Value value={after} listed />}
        </>
      )}
    </div>
  );
}

/** Words as they were and as they are; those that went and came are marked, to the last sign. */
function Edited({ before, after }: { before: string; after: string }) {
  const [went, came] = [diffWords(before, after, true), diffWords(after, before, true)];
  if (![...went, ...came].some((piece) => piece.only))
    return (
      <p>
        {after} <span class="quiet-text">(only whitespace or word order changed)</span>
      </p>
    );
  return (
    <>
      <p>{went.map((piece, at) => (piece.only ? <del key={at}>{piece.text}</del> : piece.text))}</p>
      <p>{came.map((piece, at) => (piece.only ? <ins key={at}>{piece.text}</ins> : piece.text))}</p>
    </>
  );
}

function areWords(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

/** A list as it is now, with what went from it. */
function Listed({ before, after }: { before: string[]; after: string[] }) {
  const all = [...before, ...after.filter((one) => !before.includes(one))];
  return (
    <ul class="history-list">
      {all.map((one, at) => (
        <li key={at}>{!after.includes(one) ? <del>{one}</del> : before.includes(one) ? one : <ins>{one}</ins>}</li>
      ))}
    </ul>
  );
}

function Answer({ answer }: { answer: BuildAnswer }) {
  return (
    <details class="history-answer">
      <summary>
        Asked the {answer.role}, {answer.reader} {answer.problem ? <Tag kind="bad">unusable</Tag> : null}
        {answer.repaired ? <Tag kind="warn">repaired</Tag> : null}
        {answer.known ? <Tag>from cache</Tag> : null}
      </summary>
      {answer.problem ? <p>Unusable: {answer.problem}</p> : null}
      {answer.repaired ? <p>Repaired: {answer.repaired}</p> : null}
      <p class="quiet-text">
        Prompt <code>{answer.prompt}</code>
      </p>
      {answer.asked.map((message, at) => (
        <div key={at}>
          <span class="quiet-text">{message.role}</span>
          <Verbatim what={`${message.role}, message ${at + 1}`} text={message.parts.join("\n")} />
        </div>
      ))}
      {answer.reasoning ? (
        <>
          <span class="quiet-text">reasoning</span>
          <Verbatim what="reasoning" text={answer.reasoning} />
        </>
      ) : null}
      <span class="quiet-text">raw reply</span>
      <Verbatim what="reply" text={answer.reply || "(empty)"} />
    </details>
  );
}
