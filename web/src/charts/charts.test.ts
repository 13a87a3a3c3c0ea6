import { describe, expect, it } from "vitest";
import { NOTICE } from "../kit/notice";
import { csvOf, escapeFormula } from "./csv";
import { fileName, standaloneSvg } from "./save_files";
import { truncateTo, axisRange, ticksOf } from "./scale";

describe("axes", () => {
  it("has round numbers within the range", () => {
    expect(ticksOf(0, 1)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    expect(ticksOf(-0.31, 0.42)).toEqual([-0.2, 0, 0.2, 0.4]);
    expect(ticksOf(3, 3)).toEqual([3]);
  });
  it("ends beyond all numbers, and at 0 and 1 for shares", () => {
    expect(axisRange([0.2, 0.7], { share: true })).toEqual([0, 1]);
    const [low, high] = axisRange([12, 87, null]);
    expect(low).toBeLessThan(12);
    expect(high).toBeGreaterThan(87);
    expect(axisRange([])).toEqual([0, 1]);
  });
  it("cuts names in their middle", () => {
    expect(truncateTo("runs/medthinkvqa/atlas", 70)).toBe("runs/…tlas");
  });
});

describe("files", () => {
  it("cannot start a formula, and leaves numbers alone", () => {
    expect(escapeFormula("=HYPERLINK(1)")).toBe("'=HYPERLINK(1)");
    for (const first of ["+", "-", "@", "\t", "\r"]) expect(escapeFormula(`${first}1`).startsWith("'")).toBe(true);
    const text = csvOf(["a", "b"], [["=1+1", -0.5]]);
    expect(text).toBe(`a,b,notice\r\n'=1+1,-0.5,"${NOTICE}"\r\n`);
  });
  it("carries the notice where there is no row", () => {
    expect(csvOf(["a"], [])).toContain(NOTICE);
  });
  it("quotes what needs it", () => {
    expect(csvOf(["a"], [['x "y", z\nw']])).toContain('"x ""y"", z\nw"');
  });
  it("has names that every system takes", () => {
    expect(fileName("runs/medthinkvqa atlas", "accuracy")).toBe("runs-medthinkvqa-atlas-accuracy");
    expect(fileName("../../x")).toBe("x");
  });
  it("draws the notice into a picture, and its title as text", () => {
    document.body.innerHTML = '<svg width="200" height="100"><text class="a">x</text></svg>';
    const svg = document.querySelector("svg") as unknown as SVGSVGElement;
    Object.defineProperty(svg, "width", { value: { baseVal: { value: 200 } } });
    Object.defineProperty(svg, "height", { value: { baseVal: { value: 100 } } });
    const text = standaloneSvg(svg, "<b>Accuracy</b>");
    expect(text).toContain(NOTICE);
    expect(text).toContain("&lt;b&gt;Accuracy");
    expect(text).not.toContain("class=");
  });
});
