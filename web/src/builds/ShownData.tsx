// What a question shows besides pictures: texts and numbers by name, however deep.
import { useState } from "preact/hooks";

const LONGEST = 20_000;
const SHORT = 240;

export function ShownData({ shown, none = "The question shows nothing else." }: { shown: Record<string, unknown>; none?: string }) {
  const names = Object.keys(shown).filter((name) => !isNothing(shown[name]));
  if (!names.length) return <p class="quiet-text">{none}</p>;
  return (
    <dl class="shown-data">
      {names.map((name) => (
        <div key={name} class={name === "sentence" ? "shown-chief" : ""}>
          <dt>{name}</dt>
          <dd>
            <Value value={shown[name]} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function isNothing(value: unknown): boolean {
  return value === null || value === undefined || value === "" || (typeof value === "object" && !Object.keys(value).length);
}

/** Any value; `listed` as one of many, where a short record takes a line and not a table. */
export function Value({ value, listed = false }: { value: unknown; listed?: boolean }) {
  if (typeof value === "string") return <Text text={value} />;
  const line = listed || Array.isArray(value) ? inOneLine(value) : null;
  if (line !== null) return <Text text={line} />;
  if (Array.isArray(value) && value.some((inner) => typeof inner === "string" || (typeof inner === "object" && inner !== null))) {
    if (value.length === 1) return <Value value={value[0]} />;
    return (
      <ol>
        {value.slice(0, 500).map((inner, at) => (
          <li key={at}>
            <Value value={inner} listed />
          </li>
        ))}
      </ol>
    );
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return <ShownData shown={value as Record<string, unknown>} />;
  return <Text text={JSON.stringify(value).replaceAll(",", ", ")} />;
}

/** Short lists of words and numbers, and short records of them, as they are read aloud: no list in a list. */
export function inOneLine(value: unknown): string | null {
  if (typeof value !== "object" || value === null) return typeof value === "string" ? value : String(value);
  const line = Array.isArray(value)
    ? value.some((inner) => typeof inner === "object" && inner !== null && !Array.isArray(inner)) || value.every((inner) => typeof inner === "string")
      ? null
      : JSON.stringify(value).replaceAll('"', "").replaceAll(",", ", ").replace(/^\[(?=[^[\d-])(.*)\]$/, "$1")
    : record(value as Record<string, unknown>);
  return line !== null && line.length <= SHORT ? line : null;
}

function record(value: Record<string, unknown>): string | null {
  const parts = Object.entries(value).filter(([, inner]) => !isNothing(inner));
  const lines = parts.map(([name, inner]) => {
    if (Array.isArray(inner)) return inner.every((one) => typeof one !== "object") ? `${name}: ${inner.join(", ")}` : null;
    const words = typeof inner === "object" ? record(inner as Record<string, unknown>) : String(inner);
    return words === null ? null : `${name}: ${typeof inner === "object" ? `(${words})` : words}`;
  });
  return lines.includes(null) ? null : lines.join(" · ");
}

function Text({ text }: { text: string }) {
  const [all, setAll] = useState(false);
  if (text.length <= LONGEST || all) return <span class="shown-text">{text}</span>;
  return (
    <>
      <span class="shown-text">{text.slice(0, LONGEST)} …</span>{" "}
      <button type="button" onClick={() => setAll(true)}>
        {(text.length - LONGEST).toLocaleString("en")} more characters
      </button>
    </>
  );
}
