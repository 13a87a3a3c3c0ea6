// The prompt and the raw reply behind a step, loaded when somebody asks for them.
import { apiUrl, type Schemas, useApi } from "../api/client";
import { Loading, Tag, ErrorBox, Verbatim } from "../kit/kit";
import { formatNumber } from "../kit/numbers";
import type { TracedReading } from "./rows";

type ExchangeDetail = Schemas["ExchangeDetail"];

export function ExchangePanel({ reading, number, onNumber }: { reading: TracedReading; number: number; onNumber?: (number: number) => void }) {
  const base = ["runs", reading.run, "cases", reading.case, "exchanges", String(number)];
  const sample = reading.sample || undefined;
  const asked = useApi<ExchangeDetail>(apiUrl(base, { sample }));
  if (asked.problem) return <ErrorBox problem={asked.problem} retry={asked.reload} />;
  if (!asked.data) return <Loading what="the prompt and the reply" />;
  const detail = asked.data;
  return (
    <div class="trace-exchange">
      <div class="row">
        <strong>
          Exchange {number + 1} of {detail.count}: {detail.task}
        </strong>
        {detail.prompt ? <code>{detail.prompt}</code> : null}
        {detail.from_cache ? <Tag>from cache</Tag> : null}
        {onNumber && detail.count > 1 ? (
          <span class="row trace-exchange-steps">
            <button type="button" disabled={number === 0} onClick={() => onNumber(number - 1)}>
              Previous
            </button>
            <button type="button" disabled={number + 1 >= detail.count} onClick={() => onNumber(number + 1)}>
              Next
            </button>
          </span>
        ) : null}
      </div>
      {detail.problem ? (
        <p class="trace-problem">
          <Tag kind="bad">not usable</Tag> {detail.problem}
        </p>
      ) : null}
      {detail.repaired ? (
        <p>
          <Tag kind="warn">repaired</Tag> {detail.repaired}
        </p>
      ) : null}
      {detail.reply?.asked_without?.length ? (
        <p>
          <Tag kind="warn">asked without</Tag> {detail.reply.asked_without.join(", ")}: the endpoint refuses it
        </p>
      ) : null}
      {detail.messages.map((message, at) => (
        <div key={at} class={`trace-message trace-${message.role}`}>
          <span class="trace-role">{message.role}</span>
          {message.parts.map((part, place) =>
            part.picture ? (
              <Sent key={place} reading={reading} exchange={number} picture={part.picture} />
            ) : (
              <Verbatim key={place} what={`${message.role}, part ${place + 1}`} text={part.text ?? ""} />
            ),
          )}
        </div>
      ))}
      <div class="trace-message trace-reply">
        <span class="trace-role">raw reply</span>
        {detail.reply ? (
          <>
            {detail.reply.reasoning ? (
              <details>
                <summary>Reasoning</summary>
                <Verbatim what="reasoning" text={detail.reply.reasoning} />
              </details>
            ) : null}
            <Verbatim what="reply" text={detail.reply.text || "(empty)"} />
            <p class="quiet-text">{spent(detail.reply)}</p>
          </>
        ) : (
          <p>The reader returned a mask without text.</p>
        )}
      </div>
    </div>
  );
}

function Sent({ reading, exchange, picture }: { reading: TracedReading; exchange: number; picture: Schemas["ExchangePicture"] }) {
  const address = apiUrl(["runs", reading.run, "cases", reading.case, "exchanges", String(exchange), "pictures", String(picture.number)], {
    sample: reading.sample || undefined,
  });
  return (
    <figure class="trace-sent">
      {picture.problem ? null : <img class="film" src={address} alt={`Picture sent: ${picture.told}`} loading="lazy" />}
      <figcaption class="quiet-text">
        {picture.told}, {picture.width}×{picture.height} pixels.{" "}
        {picture.problem ?? (picture.same ? "Exactly as it was sent." : "Redrawn; not identical to what was sent.")}
      </figcaption>
    </figure>
  );
}

function spent(reply: NonNullable<ExchangeDetail["reply"]>): string {
  const ends: Record<string, string> = { stop: "", length: "cut off at the length limit", refused: "refused", other: "ended early" };
  const usage = reply.usage;
  const parts = [
    reply.model ?? "",
    ends[reply.finish ?? "stop"] ?? "",
    usage?.input_tokens ? `${usage.input_tokens.toLocaleString("en")} input tokens` : "",
    usage?.output_tokens ? `${usage.output_tokens.toLocaleString("en")} output tokens` : "",
    usage?.seconds ? `${formatNumber(usage.seconds, 1)} s` : "",
  ];
  return parts.filter(Boolean).join(" · ");
}
