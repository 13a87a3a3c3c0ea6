import { expect, it } from "vitest";
import { moveOf } from "./keys";

const press = (key: string, html = "<p></p>", more: Partial<KeyboardEvent> = {}) => {
  const box = document.createElement("div");
  box.innerHTML = html;
  return moveOf({ key, ctrlKey: false, metaKey: false, altKey: false, defaultPrevented: false, target: box.firstElementChild, ...more });
};

it("knows its keys", () => {
  expect(press("j")).toBe("down");
  expect(press("ArrowUp")).toBe("up");
  expect(press("t")).toBe("truth");
  expect(press("x")).toBeNull();
});

it("leaves keys to whoever they belong to", () => {
  expect(press("j", "<input>")).toBeNull();
  expect(press("n", "<select></select>")).toBeNull();
  expect(press("Enter", "<button></button>")).toBeNull();
  expect(press("ArrowDown", "<pre></pre>")).toBeNull();
  expect(press("j", "<pre></pre>")).toBe("down");
  expect(press("t", "<p></p>", { ctrlKey: true })).toBeNull();
  expect(press("t", "<p></p>", { defaultPrevented: true })).toBeNull();
});
