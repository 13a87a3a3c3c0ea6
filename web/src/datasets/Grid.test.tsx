import { fireEvent, render } from "@testing-library/preact";
import { describe, expect, it } from "vitest";
import { Grid } from "./Grid";

const items = Array.from({ length: 2000 }, (_, at) => at);
const shown = () =>
  render(
    <Grid
      label="Cases"
      name="test"
      items={items}
      size={{ width: 900, height: 700 }}
      draw={(item, card) => (
        <a href={`#${item}`} data-place={card.place} tabIndex={card.tabIndex}>
          case {item}
        </a>
      )}
    />,
  );

describe("the grid", () => {
  it("draws a few of two thousand cards", () => {
    const { container } = shown();
    const cards = container.querySelectorAll("a");
    expect(cards.length).toBeGreaterThan(8);
    expect(cards.length).toBeLessThan(60);
    expect(container.querySelector("[role=grid]")?.getAttribute("aria-rowcount")).toBe("400");
  });
  it("draws others after it was scrolled, and no more of them", () => {
    const { container } = shown();
    const pane = container.querySelector("[role=grid]") as HTMLElement;
    pane.scrollTop = 50_000;
    fireEvent.scroll(pane);
    const cards = [...container.querySelectorAll("a")];
    expect(cards.length).toBeLessThan(60);
    expect(cards.map((card) => card.textContent)).toContain("case 1010");
    expect(cards.map((card) => card.textContent)).not.toContain("case 0");
  });
  it("has one card that the Tab key reaches, and moves it with the arrows", () => {
    const { container } = shown();
    const reached = () => [...container.querySelectorAll("a")].filter((card) => card.tabIndex === 0).map((card) => card.textContent);
    expect(reached()).toEqual(["case 0"]);
    (container.querySelector("a") as HTMLElement).focus();
    fireEvent.keyDown(container.querySelector("[role=grid]") as HTMLElement, { key: "ArrowDown" });
    expect(reached()).toEqual(["case 5"]);
    expect(document.activeElement?.textContent).toBe("case 5");
  });
  it("keeps the focused card while it is scrolled away", () => {
    const { container } = shown();
    const pane = container.querySelector("[role=grid]") as HTMLElement;
    (container.querySelector("a") as HTMLElement).focus();
    pane.scrollTop = 50_000;
    fireEvent.scroll(pane);
    expect(document.activeElement?.textContent).toBe("case 0");
  });
});
