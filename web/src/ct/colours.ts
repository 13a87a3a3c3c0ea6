// The colours of masks, as the page's tokens have them, for a shader that knows numbers only.
import { CLASS, type ClassName } from "./labels";
import type { Colour } from "./niivue";

/** Class → the token it is drawn in; everything lies on black film. */
export const TOKEN: Record<ClassName, string> = {
  hit: "--hit",
  miss: "--miss",
  alarm: "--alarm",
  truth: "--truth",
  prediction: "--series-3",
  chosen: "--on-film",
};

/** A colour as browsers tell it, "rgb(86, 180, 233)", as three numbers from 0 to 1. */
export function parseColour(text: string): Colour {
  const found = text.match(/[\d.]+/g)?.map(Number) ?? [];
  const one = (n: number) => (found[n] ?? 255) / 255;
  return [one(0), one(1), one(2)];
}

export function coloursFrom(element: HTMLElement): Colour[] {
  const probe = document.createElement("span");
  element.append(probe);
  const made: Colour[] = [[0, 0, 0]];
  for (const name of Object.keys(CLASS) as ClassName[]) {
    probe.style.color = `var(${TOKEN[name]})`;
    made[CLASS[name]] = parseColour(getComputedStyle(probe).color);
  }
  probe.remove();
  return made;
}
