// What the server found to show, fetched once and shared by all views.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Schemas } from "./api/client";

export type ShelfContents = Schemas["ShelfContents"];
export type ShelfDataset = Schemas["ShelfDataset"];
export type ShelfRun = Schemas["ShelfRun"];

interface ShelfValue {
  shelf: ShelfContents;
  refresh: () => void;
}

export const ShelfContext = createContext<ShelfValue | null>(null);

export function useShelf(): ShelfValue {
  const found = useContext(ShelfContext);
  if (!found) throw new Error("useShelf() is used outside of ShelfContext");
  return found;
}

/** What a build is called; its id where it is not found. */
export function useBuildName(build: string): string {
  return useShelf().shelf.builds.find((one) => one.id === build)?.name ?? build;
}
