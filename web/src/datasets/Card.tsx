// One case in the grid.
import { memo } from "preact/compat";
import { useEffect, useRef, useState } from "preact/hooks";
import { formatCount } from "../kit/numbers";
import { Link } from "../router";
import type { CardProps } from "./Grid";

/** Thumbnails that were shown once come from the browser's own store. */
const seen = new Set<string>();
/** A card that is scrolled past in less time asks for no picture. */
const GLANCE = 70;

interface Props extends CardProps {
  id: string;
  href: string;
  thumb: string;
  pictures: number;
  volumes: number;
  text: string;
  /** What the truth tells, where it is asked for. */
  title: string;
  labels: string;
}

export const Card = memo(function Card({ id, href, thumb, pictures, volumes, text, title, labels, place, tabIndex }: Props) {
  const flat = pictures - volumes;
  const badge = [
    volumes === 1 ? "CT" : volumes ? `${volumes} CTs` : "",
    flat ? formatCount(flat, "picture") : "",
  ]
    .filter(Boolean)
    .join(" + ");
  return (
    <Link class="card" href={href} tabIndex={tabIndex} data-place={place} title={title || undefined}>
      <span class="card-film">
        {pictures ? <Thumb key={thumb} src={thumb} /> : <span class="card-none">no picture</span>}
        {badge ? <span class="card-badge">{badge}</span> : null}
      </span>
      <span class="card-id">{id}</span>
      {title || labels ? <span class="card-truth">{[title, labels].filter(Boolean).join(" · ")}</span> : null}
      <span class={title || labels ? "card-text card-less" : "card-text"}>{text}</span>
    </Link>
  );
});

function Thumb({ src }: { src: string }) {
  const [shown, show] = useState(seen.has(src));
  const own = useRef<HTMLImageElement>(null);
  useEffect(() => {
    const waiting = shown ? 0 : window.setTimeout(() => show(true), GLANCE);
    return () => {
      clearTimeout(waiting);
      const picture = own.current;
      // A picture that the request was cancelled for any more is not fetched to the end.
      if (picture && !picture.complete) picture.removeAttribute("src");
    };
  }, []);
  if (!shown) return null;
  return <img ref={own} src={src} alt="" decoding="async" draggable={false} onLoad={() => seen.add(src)} />;
}
