// Who read the case: the runs that have a reading of it. What they say is behind the links, so that nobody is led.
import type { ApiState } from "../api/client";
import { Sheet, ErrorBox } from "../kit/kit";
import { Link, to } from "../router";
import type { CaseReader } from "./CaseView";

export function Readers({ asked, id }: { asked: ApiState<CaseReader[]>; id: string }) {
  if (asked.problem) return <ErrorBox problem={asked.problem} retry={asked.reload} />;
  const all = asked.data ?? [];
  return (
    <Sheet title="Readings of this case">
      {all.length ? (
        <ul class="case-readers">
          {all.map((one) => (
            <li key={one.run}>
              <Link href={to("runs", one.run, "cases", id)}>{one.name}</Link> <span class="quiet-text">{one.who}</span>
            </li>
          ))}
        </ul>
      ) : (
        <p class="quiet-text">{asked.data ? "No run has a reading of this case." : "…"}</p>
      )}
    </Sheet>
  );
}
