// Which address shows what. Each view is a part of its own, loaded when it is first opened.
import type { ComponentType } from "preact";
import { Suspense, lazy } from "preact/compat";
import { Loading, Empty } from "./kit/kit";
import { Link, type Parts, match } from "./router";

export interface ViewProps {
  parts: Parts;
}

type View = ComponentType<ViewProps>;

const ROUTES: [shape: string, view: View][] = [
  ["/", lazy(() => import("./home/Home"))],
  ["/datasets/:dataset/:split", lazy(() => import("./datasets/Browser"))],
  ["/datasets/:dataset/:split/defects", lazy(() => import("./datasets/Defects"))],
  ["/datasets/:dataset/:split/description", lazy(() => import("./datasets/Description"))],
  ["/cases/:dataset/:split/:case", lazy(() => import("./cases/CaseView"))],
  ["/runs/:run", lazy(() => import("./runs/RunView"))],
  ["/runs/:run/cases/:case", lazy(() => import("./traces/TraceView"))],
  ["/compare", lazy(() => import("./runs/CompareView"))],
  ["/compare/:case", lazy(() => import("./runs/SideBySide"))],
  ["/sweeps/:sweep", lazy(() => import("./runs/SweepView"))],
  ["/builds/:build", lazy(() => import("./builds/BuildView"))],
  ["/builds/:build/cases", lazy(() => import("./builds/BuildCases"))],
  ["/builds/:build/history", lazy(() => import("./builds/CaseHistory"))],
  ["/builds/:build/adjudicate", lazy(() => import("./builds/Adjudicate"))],
];

export function viewOf(path: string) {
  for (const [shape, View] of ROUTES) {
    const parts = match(shape, path);
    if (parts)
      return (
        <Suspense fallback={<Loading what="the view" />}>
          <View key={shape + JSON.stringify(parts)} parts={parts} />
        </Suspense>
      );
  }
  return (
    <Empty title="Page not found">
      <Link href="/">Go to the overview</Link>
    </Empty>
  );
}
