// What a question shows besides pictures: texts and numbers by name, however deep.
import { useState } from "preact/hooks";

const LONGEST = 20_000;

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

function isNothing(value: unknown): boolean {
  return value === null || value === undefined || value === "" || (Array.isArray(value) && !value.length);
}

function Value({ value }: { value: unknown }) {
  if (typeof value === "string") return <Text text={value} />;
  if (Array.isArray(value) && value.some((inner) => typeof inner === "string" || (typeof inner === "object" && inner !== null))) {
    if (value.length === 1) return <Value value={value[0]} />;
    return (
      <ol>
        {value.slice(0, 500).map((inner, at) => (
          <li key={at}>
            <Value value={inner} />
          </li>
        ))}
      </ol>
    );
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return <ShownData shown={value as Record<string, unknown>} />;
  return <Text text={JSON.stringify(value).replaceAll(",", ", ")} />;
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
