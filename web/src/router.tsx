// Addresses of the page: paths with named parts, without a library.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

interface Address {
  path: string;
  query: URLSearchParams;
}

export type Parts = Record<string, string>;

const listeners = new Set<() => void>();

export function here(): Address {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

/** Go to another address of the page; `replace` leaves no step in the history. */
export function go(to: string, how: { replace?: boolean } = {}): void {
  if (how.replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  for (const listener of listeners) listener();
  if (!how.replace) scrollTo(0, 0);
}

addEventListener("popstate", () => {
  for (const listener of listeners) listener();
});

export function useAddress(): Address {
  const [address, set] = useState(here);
  useEffect(() => {
    const listener = () => set(here());
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return address;
}

/** A value kept in the address, so that a link shows what its sender saw. */
export function useQuery(name: string, usual = ""): [string, (value: string) => void] {
  const { query } = useAddress();
  const set = (value: string) => {
    const now = here();
    if (value === usual) now.query.delete(name);
    else now.query.set(name, value);
    const text = now.query.toString();
    go(now.path + (text ? `?${text}` : ""), { replace: true });
  };
  return [query.get(name) ?? usual, set];
}

/** The named parts of a path, or null where it has another shape: match("/runs/:run", …). */
export function match(shape: string, path: string): Parts | null {
  const wanted = shape.split("/").filter(Boolean);
  const given = path.split("/").filter(Boolean);
  if (wanted.length !== given.length) return null;
  const parts: Parts = {};
  for (const [place, word] of wanted.entries()) {
    const own = given[place] ?? "";
    if (word.startsWith(":")) {
      try {
        parts[word.slice(1)] = decodeURIComponent(own);
      } catch {
        return null;
      }
    } else if (word !== own) return null;
  }
  return parts;
}

/** An address from its parts, each made safe: to("runs", id, "cases", c). */
export function to(...parts: string[]): string {
  return "/" + parts.map(encodeURIComponent).join("/");
}

type LinkProps = Omit<JSX.IntrinsicElements["a"], "href" | "onClick"> & { href: string; children: ComponentChildren };

export function Link({ href, children, ...rest }: LinkProps) {
  const follow = (event: JSX.TargetedMouseEvent<HTMLAnchorElement>) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(href);
  };
  return (
    <a href={href} onClick={follow} {...rest}>
      {children}
    </a>
  );
}
