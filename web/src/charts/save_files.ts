// Saving a chart or a table as a file: SVG and PNG are drawn from what is on the screen.
import { NOTICE } from "../kit/notice";

const COPIED = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linejoin",
  "opacity",
  "font-size",
  "font-weight",
  "text-anchor",
  "dominant-baseline",
];
const FAMILY = "system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif";
const HEAD = 34;
const FOOT = 26;

/** A name for a file: nothing in it that a system might not like. */
export function fileName(...words: string[]): string {
  return words
    .join("-")
    .toLowerCase()
    .replace(/[^a-z0-9.]+/g, "-")
    .replace(/^[-.]+|[-.]+$/g, "")
    .slice(0, 120);
}

export function saveBlob(name: string, data: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(data);
  link.download = name;
  link.click();
  // The browser has taken hold of it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function saveText(name: string, text: string, type: string): void {
  saveBlob(name, new Blob([text], { type: `${type};charset=utf-8` }));
}

/** The chart as a picture that stands alone: colours as they are now, its title, and the notice. */
export function standaloneSvg(svg: SVGSVGElement, title: string): string {
  const width = svg.width.baseVal.value || svg.clientWidth || 640;
  const height = svg.height.baseVal.value || svg.clientHeight || 320;
  const out = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string, usual: string) => resolveColour(svg, style.getPropertyValue(name) ? `var(${name})` : usual, usual);
  const set = (node: Element, values: Record<string, string | number>) => {
    for (const [name, value] of Object.entries(values)) node.setAttribute(name, String(value));
    return node;
  };
  const make = (name: string, values: Record<string, string | number>, text = "") => {
    const node = set(document.createElementNS(out.namespaceURI, name), values);
    if (text) node.textContent = text;
    out.append(node);
    return node;
  };
  const all = height + HEAD + FOOT;
  set(out, { xmlns: "http://www.w3.org/2000/svg", width, height: all, viewBox: `0 0 ${width} ${all}`, "font-family": FAMILY });
  make("title", {}, title);
  make("rect", { x: 0, y: 0, width, height: all, fill: colour("--sheet", "#ffffff") });
  make("text", { x: 12, y: 22, "font-size": 14, "font-weight": 600, fill: colour("--ink", "#000000") }, title);
  const inner = make("g", { transform: `translate(0 ${HEAD})` });
  for (const child of svg.children) inner.append(inlineStyles(child));
  make("text", { x: 12, y: all - 9, "font-size": 11, fill: colour("--quiet", "#555555") }, NOTICE);
  return new XMLSerializer().serializeToString(out);
}

/** A colour as the screen shows it, with nothing left to look up. */
function resolveColour(near: SVGSVGElement, wanted: string, usual: string): string {
  const probe = document.createElementNS(near.namespaceURI, "rect") as SVGElement;
  probe.style.fill = wanted;
  near.append(probe);
  const found = getComputedStyle(probe).fill;
  probe.remove();
  return found || usual;
}

function inlineStyles(node: Element): Element {
  const copy = node.cloneNode(false) as Element;
  const style = getComputedStyle(node);
  for (const name of COPIED) {
    const value = style.getPropertyValue(name);
    if (value) copy.setAttribute(name, value);
  }
  copy.removeAttribute("class");
  copy.removeAttribute("style");
  for (const child of node.childNodes) copy.append(child instanceof Element ? inlineStyles(child) : child.cloneNode(true));
  return copy;
}

/** The same as pixels, twice as many as on the screen. */
export async function svgToPng(svg: string): Promise<Blob> {
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const picture = new Image();
    picture.src = address;
    await picture.decode();
    const canvas = document.createElement("canvas");
    canvas.width = picture.naturalWidth * 2;
    canvas.height = picture.naturalHeight * 2;
    const brush = canvas.getContext("2d");
    if (!brush) throw new Error("this browser cannot draw on a canvas");
    brush.drawImage(picture, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, fail) =>
      canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("the picture is too large"))), "image/png"),
    );
  } finally {
    URL.revokeObjectURL(address);
  }
}
