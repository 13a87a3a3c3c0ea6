// The side of the dataset browser: what the cases can be sorted by, as charts that can be clicked.
import { type Bar, Bars, Columns } from "../charts/Bars";
import type { ChosenFilters, Facet } from "./filters";

interface PanelProps {
  facets: Facet[];
  chosen: ChosenFilters;
  counts: Map<string, number[]>;
  onToggle: (facet: string, value: string) => void;
}

export function Facets({ facets, chosen, counts, onToggle }: PanelProps) {
  return (
    <>
      {facets.map((facet) => {
        const own = chosen.get(facet.key);
        const now = counts.get(facet.key);
        const bars: Bar[] = facet.values.map((value, at) => ({
          key: value.key,
          name: value.name,
          count: now?.[at] ?? 0,
          whole: value.count,
          chosen: own?.has(value.key) ?? false,
        }));
        const Chart = facet.ordered && bars.length > 2 ? Columns : Bars;
        return <Chart key={facet.key} title={facet.title} bars={bars} onToggle={(value) => onToggle(facet.key, value)} />;
      })}
    </>
  );
}
