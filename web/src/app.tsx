// The frame around every view: where one is, what there is, and what it may be used for.
import { useEffect, useRef } from "preact/hooks";
import { apiUrl, useApi } from "./api/client";
import { Loading, ErrorBox } from "./kit/kit";
import { NOTICE } from "./kit/notice";
import { Link, useAddress } from "./router";
import { viewOf } from "./routes";
import { ShelfContext, type ShelfContents } from "./shelf";
import { type Theme, useTheme } from "./theme";

export function App() {
  const { path } = useAddress();
  const asked = useApi<ShelfContents>(apiUrl(["shelf"], { again: 1 }));
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  useEffect(() => {
    // A new view is announced to those who cannot see it change.
    if (!first.current) main.current?.focus({ preventScroll: true });
    first.current = false;
  }, [path]);
  return (
    <div class="frame">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <Head />
      <main id="main" tabIndex={-1} ref={main}>
        {asked.problem && !asked.data ? <ErrorBox problem={asked.problem} retry={asked.reload} /> : null}
        {asked.data ? (
          <ShelfContext.Provider value={{ shelf: asked.data, refresh: asked.reload }}>{viewOf(path)}</ShelfContext.Provider>
        ) : asked.problem ? null : (
          <Loading what="the overview" />
        )}
      </main>
      <footer class="notice">{NOTICE}</footer>
    </div>
  );
}

function Head() {
  const [theme, set] = useTheme();
  const next: Record<Theme, Theme> = { system: "dark", dark: "light", light: "system" };
  return (
    <header class="head">
      <Link href="/" class="home">
        <img src="/icon.svg" alt="" width="22" height="22" /> overread
      </Link>
      <nav aria-label="Breadcrumb" id="crumbs" class="crumbs" />
      <button type="button" class="quiet" onClick={() => set(next[theme])} title="Switch theme: light, dark or system">
        Theme: {theme}
      </button>
    </header>
  );
}
