// Where one is, shown in the head of the page by whichever view is open.
import { createPortal } from "preact/compat";
import { useEffect, useState } from "preact/hooks";
import { Link } from "./router";

interface Crumb {
  text: string;
  href?: string;
}

/** Names the view in the head and in the window's title. */
export function Crumbs({ trail }: { trail: Crumb[] }) {
  const [place, set] = useState<Element | null>(null);
  const last = trail.at(-1)?.text ?? "";
  useEffect(() => set(document.getElementById("crumbs")), []);
  useEffect(() => {
    document.title = last ? `${last} · overread` : "overread";
  }, [last]);
  if (!place) return null;
  return createPortal(
    <ol>
      {trail.map((crumb, at) => (
        <li key={at}>
          {crumb.href && at < trail.length - 1 ? (
            <Link href={crumb.href}>{crumb.text}</Link>
          ) : (
            <span aria-current={at === trail.length - 1 ? "page" : undefined}>{crumb.text}</span>
          )}
        </li>
      ))}
    </ol>,
    place,
  );
}
