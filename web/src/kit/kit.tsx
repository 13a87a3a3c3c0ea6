// The small parts every view is made of.
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import type { ApiError } from "../api/client";

/** A sheet of paper with a heading. */
export function Sheet({ title, tools, children }: { title?: ComponentChildren; tools?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="sheet">
      {title || tools ? (
        <div class="row" style={{ justifyContent: "space-between", marginBottom: "0.5rem" }}>
          <h2 style={{ margin: 0 }}>{title}</h2>
          {tools ? <div class="row">{tools}</div> : null}
        </div>
      ) : null}
      {children}
    </section>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <p class="empty" role="status">
      Loading {what} …
    </p>
  );
}

/** What went wrong, and what to do. */
export function ErrorBox({ problem, retry }: { problem: ApiError; retry?: () => void }) {
  return (
    <div class="sheet trouble" role="alert">
      <p>
        <strong>{problem.message}</strong>
      </p>
      {problem.remedy ? <p>{problem.remedy}</p> : null}
      {retry ? (
        <button type="button" onClick={retry}>
          Try again
        </button>
      ) : null}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p style={{ margin: "0 auto 0.5rem" }}>{title}</p>
      {children}
    </div>
  );
}

export function Tag({ kind = "", children }: { kind?: "" | "good" | "warn" | "bad"; children: ComponentChildren }) {
  return <span class={`tag ${kind}`}>{children}</span>;
}

/** Words exactly as they were; long ones scroll, also by the keyboard. */
export function Verbatim({ what, text }: { what: string; text: string }) {
  return (
    <pre tabIndex={0} role="region" aria-label={what}>
      {text}
    </pre>
  );
}

/** A heading and the text below it; nothing where there is no text. */
export function TextSection({ title, text }: { title: string; text: string | null | undefined }) {
  if (!text) return null;
  return (
    <>
      <h3>{title}</h3>
      <p class="long-text">{text}</p>
    </>
  );
}

/** A labelled field. */
export function Field({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <label class="field">
      <span>{label}</span>
      {children}
    </label>
  );
}

export interface Tab {
  id: string;
  title: ComponentChildren;
  body: () => ComponentChildren;
}

/** Tabs with the arrow keys that everybody expects. */
export function Tabs({ label, tabs, open, onOpen }: { label: string; tabs: Tab[]; open?: string; onOpen?: (id: string) => void }) {
  const [own, setOwn] = useState(tabs[0]?.id ?? "");
  const name = useId();
  const chosen = tabs.find((tab) => tab.id === (open ?? own)) ?? tabs[0];
  const choose = (id: string) => {
    setOwn(id);
    onOpen?.(id);
  };
  const keys = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step || !chosen) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(chosen) + step + tabs.length) % tabs.length];
    if (!next) return;
    choose(next.id);
    document.getElementById(`${name}-${next.id}`)?.focus();
  };
  return (
    <div>
      <div class="tabs" role="tablist" aria-label={label} onKeyDown={keys}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            id={`${name}-${tab.id}`}
            type="button"
            role="tab"
            aria-selected={tab === chosen}
            aria-controls={`${name}-panel`}
            tabIndex={tab === chosen ? 0 : -1}
            onClick={() => choose(tab.id)}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${name}-panel`} aria-labelledby={chosen ? `${name}-${chosen.id}` : undefined}>
        {chosen?.body()}
      </div>
    </div>
  );
}
