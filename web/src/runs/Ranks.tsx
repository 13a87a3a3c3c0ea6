// Which ranks the runs may claim, and which pairs differ beyond chance.
import { ChartFrame } from "../charts/ChartFrame";
import { RankPlot } from "../charts/RankPlot";
import { Sheet } from "../kit/kit";
import { formatCount, formatP, percent, formatScore } from "../kit/numbers";
import type { Comparison } from "./CompareView";

export default function Ranks({ found }: { found: Comparison }) {
  const nameOf = (id: string) => found.runs.find((run) => run.id === id)?.name ?? id;
  if (!found.ranking.length) return <p class="quiet-text">There are no ranks: the number of some run is undefined.</p>;
  const title = `Ranks by ${found.metric}`;
  return (
    <div class="runs-two">
      <Sheet>
        <ChartFrame
          title={title}
          name={`ranks-${found.metric}`}
          about="The bar shows the range of ranks over bootstrap draws of the patients; it is too narrow where runs lie close together. Sure ranks hold for all runs at once."
          table={{
            columns: ["run", "rank", "from", "to", "value", "first in share of draws", "from, by Wilcoxon", "to, by Wilcoxon", "from, surely", "to, surely"],
            rows: found.ranking.map((one) => [nameOf(one.run), one.rank, one.low, one.high, one.value, one.first, one.tested?.[0], one.tested?.[1], one.sure?.[0], one.sure?.[1]]),
          }}
        >
          {(width) => (
            <RankPlot
              width={width}
              label={title}
              rows={found.ranking.map((one) => ({ label: nameOf(one.run), rank: one.rank, low: one.low ?? null, high: one.high ?? null, text: one.first === null ? "" : `first in ${percent(one.first)}` }))}
            />
          )}
        </ChartFrame>
      </Sheet>
      <Sheet title="Ranks and pairs">
        <div class="scrolls" tabIndex={0} role="region" aria-label={title}>
          <table>
            <thead>
              <tr>
                <th scope="col">Run</th>
                <th scope="col" class="number">
                  Rank
                </th>
                <th scope="col" class="number" title="Ranks that hold for all runs at once">
                  Sure
                </th>
                <th scope="col" class="number">
                  By bootstrap
                </th>
                <th scope="col" class="number" title="Ranks that Wilcoxon's tests with Holm's correction leave open">
                  By Wilcoxon
                </th>
                <th scope="col" class="number">
                  Value
                </th>
              </tr>
            </thead>
            <tbody>
              {found.ranking.map((one) => (
                <tr key={one.run}>
                  <th scope="row">{nameOf(one.run)}</th>
                  <td class="number">{one.rank}</td>
                  <td class="number">{one.sure ? `${one.sure[0]} – ${one.sure[1]}` : "–"}</td>
                  <td class="number">{one.low === null ? "–" : `${one.low} – ${one.high}`}</td>
                  <td class="number">{one.tested ? `${one.tested[0]} – ${one.tested[1]}` : "–"}</td>
                  <td class="number">{formatScore(one.value)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {found.pairs.length ? (
          <details>
            <summary>{formatCount(found.pairs.length, "pair")}, by Wilcoxon's signed-rank test</summary>
            <div class="scrolls" tabIndex={0} role="region" aria-label="Pairs">
              <table>
                <thead>
                  <tr>
                    <th scope="col">One</th>
                    <th scope="col">Other</th>
                    <th scope="col">Ahead</th>
                    <th scope="col" class="number">
                      Cases that differ
                    </th>
                    <th scope="col" class="number">
                      p
                    </th>
                    <th scope="col" class="number">
                      After Holm
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {found.pairs.map((pair) => (
                    <tr key={`${pair.first} ${pair.second}`}>
                      <td>{nameOf(pair.first)}</td>
                      <td>{nameOf(pair.second)}</td>
                      <td>{pair.ahead ? nameOf(pair.ahead) : "neither"}</td>
                      <td class="number">{pair.n - pair.zeros}</td>
                      <td class="number">{formatP(pair.p)}</td>
                      <td class="number">{formatP(pair.adjusted)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </details>
        ) : null}
      </Sheet>
    </div>
  );
}
