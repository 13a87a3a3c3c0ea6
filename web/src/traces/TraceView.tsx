// A reading as it went: each step with its words and what it looked at, beside the reference.
import { useState } from "preact/hooks";
import { apiUrl, useApi } from "../api/client";
import { Crumbs } from "../crumbs";
import { Loading, Empty, Field, Sheet, Tag, ErrorBox } from "../kit/kit";
import { go, here, to, useQuery } from "../router";
import type { ViewProps } from "../routes";
import { formatCount } from "../kit/numbers";
import { useShelf } from "../shelf";
import { ExchangePanel } from "./Exchange";
import { type Move, useMoveKeys } from "./keys";
import { PicturePane } from "./PicturePane";
import { ReferenceColumn } from "./ReferenceColumn";
import { Result } from "./Result";
import { type Judgement, type Reference, type Row, type TracedReading, pairsOf, referenceRowsOf, rowsOf, verdictsOfRow } from "./rows";
import { StepItem, WrongSentences } from "./StepList";
import { Verdicts } from "./Verdicts";
import "./trace.css";

export default function TraceView({ parts }: ViewProps) {
  const run = parts.run ?? "";
  const name = parts.case ?? "";
  const [sample] = useQuery("sample", "0");
  const asked = useApi<TracedReading>(apiUrl(["runs", run, "cases", name], { sample }));
  return (
    <>
      <Crumbs trail={[{ text: asked.data?.run_name ?? run, href: to("runs", run) }, { text: name }]} />
      {asked.problem ? <ErrorBox problem={asked.problem} retry={asked.reload} /> : null}
      {asked.data ? <Traced key={asked.data.sample} reading={asked.data} /> : asked.problem ? null : <Loading what="the reading" />}
    </>
  );
}

function Traced({ reading }: { reading: TracedReading }) {
  const { shelf } = useShelf();
  const [step, setStep] = useQuery("step", "");
  const [truth, setTruth] = useQuery("truth", "");
  const [verdictsOpen, setVerdictsOpen] = useQuery("verdicts", "");
  const [, setSample] = useQuery("sample", "0");
  const [place, setPlace] = useState(0);
  const [picked, setPicked] = useState<string | null>(null);
  const [window, setWindow] = useState("lung");
  const [close, setClose] = useState(false);
  const [open, setOpen] = useState<{ step: number; exchange: number } | null>(null);
  const [judge, setJudge] = useState(0);
  const [litByHand, setLitByHand] = useState<number | null>(null);

  const mayTruth = shelf.rights.truth;
  const sample = reading.sample || undefined;
  const base = ["runs", reading.run, "cases", reading.case];
  const reference = useApi<Reference>(mayTruth && truth ? apiUrl([...base, "reference"], { sample }) : null);
  const judged = useApi<Judgement[]>(mayTruth && verdictsOpen && reading.judged ? apiUrl([...base, "verdicts"], { sample }) : null);

  const rows = rowsOf(reading);
  const referenceRows = reference.data ? referenceRowsOf(reference.data) : [];
  const pairs = pairsOf(rows, reference.data, referenceRows);
  const row = rows.find((one) => String(one.number) === step) ?? null;
  const paired = row ? pairs.ofReading.get(row.number) : undefined;
  const lit = referenceRows.find((one) => one.number === (litByHand ?? paired?.number)) ?? null;
  const own = (row?.regions[place] ?? row?.regions[0])?.picture;
  const picture = picked ?? own ?? reading.pictures[0]?.name ?? "";
  const judgement = judged.data?.[judge];

  const choose = (number: number, at = 0) => {
    setPlace(at);
    setPicked(null);
    setLitByHand(null);
    setStep(String(number));
  };
  const toggle = (one: Row) => setOpen(open?.step === one.number || one.exchange === null ? null : { step: one.number, exchange: one.exchange });
  const leave = (name: string | null) => {
    if (name === null) return;
    const query = new URLSearchParams();
    for (const kept of ["truth", "verdicts"]) if (here().query.get(kept)) query.set(kept, "1");
    const text = query.toString();
    go(to("runs", reading.run, "cases", name) + (text ? `?${text}` : ""));
  };
  const act: Record<Move, () => void> = {
    down: () => choose(Math.min(rows.length, (row?.number ?? 0) + 1)),
    up: () => choose(Math.max(1, (row?.number ?? 2) - 1)),
    open: () => (row ? toggle(row) : undefined),
    truth: () => (mayTruth ? setTruth(truth ? "" : "1") : undefined),
    verdicts: () => (mayTruth && reading.judged ? setVerdictsOpen(verdictsOpen ? "" : "1") : undefined),
    close: () => setClose(!close),
    next: () => leave(reading.next),
    previous: () => leave(reading.previous),
  };
  useMoveKeys((move) => act[move]());

  return (
    <div class="stack">
      <div class="row trace-top">
        <h1>{reading.case}</h1>
        <Tag>{reading.reader}</Tag>
        <Tag>{reading.workflow ?? "whole-case reader"}</Tag>
        <span class="quiet-text">
          case {reading.place} of {reading.count}
        </span>
        <div class="row trace-tools">
          {reading.samples.length > 1 ? (
            <Field label="Sample">
              <select value={String(reading.sample)} onChange={(event) => setSample(event.currentTarget.value)}>
                {reading.samples.map((one) => (
                  <option key={one.sample} value={String(one.sample)}>
                    {one.sample + 1} of {reading.samples.length}
                    {one.failed ? ", failed" : ""}
                  </option>
                ))}
              </select>
            </Field>
          ) : null}
          {mayTruth ? (
            <button type="button" aria-pressed={Boolean(truth)} onClick={act.truth}>
              {truth ? "Hide the reference" : "Show the reference"} <kbd>t</kbd>
            </button>
          ) : null}
          {mayTruth && reading.judged ? (
            <button type="button" aria-pressed={Boolean(verdictsOpen)} onClick={act.verdicts}>
              Verdicts <kbd>v</kbd>
            </button>
          ) : null}
          <button type="button" disabled={reading.previous === null} onClick={act.previous}>
            Previous case <kbd>p</kbd>
          </button>
          <button type="button" disabled={reading.next === null} onClick={act.next}>
            Next case <kbd>n</kbd>
          </button>
        </div>
      </div>

      {reading.error !== null ? (
        <div class="sheet trouble" role="alert">
          <p>
            <strong>This reading failed.</strong> {reading.error}
          </p>
          <p class="quiet-text">A failed reading gets the worst score.{reading.exchanges.length ? " The exchanges up to the failure are listed below." : ""}</p>
        </div>
      ) : null}

      <div class={`trace-columns ${truth && mayTruth ? "trace-three" : ""}`}>
        <section class="trace-left" aria-label="Pictures">
          <PicturePane
            reading={reading}
            rows={rows}
            referenceRows={referenceRows}
            chosen={row ? { row, place: place < row.regions.length ? place : 0 } : null}
            counterpart={lit}
            picture={picture}
            onPicture={setPicked}
            onChoose={(number, ofTruth) => (ofTruth ? setLitByHand(number) : choose(number))}
            window={window}
            onWindow={setWindow}
            close={close}
            onClose={setClose}
          />
          <Question reading={reading} />
        </section>

        <section class="stack" aria-label="The reading">
          <div class="row trace-hints">
            <h2>The reading</h2>
            <span class="quiet-text">
              <kbd>j</kbd> <kbd>k</kbd> through the steps, <kbd>Enter</kbd> prompt and reply
            </span>
          </div>
          {rows.length ? (
            <ol class="trace-steps">
              {rows.map((one, at) => {
                const said = verdictsOfRow(one, judgement);
                const pair = pairs.ofReading.get(one.number);
                return (
                  <StepItem
                    key={one.number}
                    reading={reading}
                    row={one}
                    before={rows[at - 1]}
                    chosen={one === row}
                    window={window}
                    onChoose={(at) => choose(one.number, at)}
                    marks={
                      <>
                        {said ? <Tag kind={said.wrong.length ? "bad" : "good"}>{said.wrong.length ? `✗ ${said.wrong.length} of ${said.hold + said.wrong.length} wrong` : `✓ ${said.hold} hold`}</Tag> : null}
                        {one.exchange !== null && reading.exchanges[one.exchange]?.repaired ? <Tag kind="warn">repaired</Tag> : null}
                        {pair ? (
                          <button type="button" class="trace-chip" title={pair.why} onClick={() => setLitByHand(pair.number)}>
                            ↔ reference {pair.number}, {pair.why}
                            {pair.overlap !== null ? `, IoU ${pair.overlap.toFixed(2)}` : ""}
                          </button>
                        ) : pair === null ? (
                          <Tag kind="warn">no counterpart</Tag>
                        ) : null}
                      </>
                    }
                  >
                    {said ? <WrongSentences wrong={said.wrong} /> : null}
                    {one.exchange !== null ? (
                      <button type="button" class="quiet trace-disclose" aria-expanded={open?.step === one.number} onClick={() => toggle(one)}>
                        {open?.step === one.number ? "▾" : "▸"} prompt and reply
                      </button>
                    ) : null}
                    {open?.step === one.number ? (
                      <ExchangePanel reading={reading} number={open.exchange} onNumber={(number) => setOpen({ step: one.number, exchange: number })} />
                    ) : null}
                  </StepItem>
                );
              })}
            </ol>
          ) : (
            <Empty title={reading.error !== null ? "The reading failed before its first step." : "This reading has no steps and no findings."} />
          )}
          {verdictsOpen && mayTruth && judged.problem ? <ErrorBox problem={judged.problem} retry={judged.reload} /> : null}
          {verdictsOpen && judged.data ? <Verdicts all={judged.data} chosen={judge} onChoose={setJudge} /> : null}
          <Result reading={reading} answer={truth ? (reference.data?.answer ?? null) : null} />
          <ExchangeList reading={reading} />
        </section>

        {truth && mayTruth ? (
          <section class="stack" aria-label="The reference">
            <h2>The reference</h2>
            {reference.problem ? <ErrorBox problem={reference.problem} retry={reference.reload} /> : null}
            {reference.busy ? <Loading what="the reference" /> : null}
            {reference.data ? (
              <ReferenceColumn
                reading={reading}
                reference={reference.data}
                rows={referenceRows}
                pairs={pairs}
                lit={lit}
                window={window}
                onChoose={setLitByHand}
                onReading={(number) => choose(number)}
              />
            ) : null}
          </section>
        ) : null}
      </div>
    </div>
  );
}

/** What the reader was asked about. */
function Question({ reading }: { reading: TracedReading }) {
  if (!(reading.history || reading.instruction || reading.options.length || reading.queries.length)) return null;
  return (
    <details class="sheet trace-question">
      <summary>Case text</summary>
      {reading.history ? <p>{reading.history}</p> : null}
      {reading.instruction ? <p>{reading.instruction}</p> : null}
      <ul>
        {reading.options.map((one) => (
          <li key={one.letter}>
            <strong>{one.letter}</strong> {one.text}
          </li>
        ))}
        {reading.queries.map((one) => (
          <li key={one.id}>
            <strong>{one.id}</strong> {one.text}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Every exchange, also those that no step came of: a failed reading, a question asked again. */
function ExchangeList({ reading }: { reading: TracedReading }) {
  const [open, setOpen] = useState<number | null>(null);
  if (!reading.exchanges.length) return null;
  return (
    <Sheet title={`All exchanges (${reading.exchanges.length})`}>
      <ol class="trace-asked">
        {reading.exchanges.map((one, at) => (
          <li key={at}>
            <div class="row">
              <button type="button" class="quiet" aria-expanded={open === at} onClick={() => setOpen(open === at ? null : at)}>
                {open === at ? "▾" : "▸"} {one.task}
              </button>
              {one.pictures ? <span class="quiet-text">{formatCount(one.pictures, "picture")}</span> : null}
              {one.problem ? <Tag kind="bad">not usable: {one.problem}</Tag> : null}
              {one.repaired ? <Tag kind="warn">repaired: {one.repaired}</Tag> : null}
            </div>
            {open === at ? <ExchangePanel reading={reading} number={at} /> : null}
          </li>
        ))}
      </ol>
    </Sheet>
  );
}
