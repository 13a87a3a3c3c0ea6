import { Crumbs } from "../crumbs";
import type { ViewProps } from "../routes";

export default function SweepView({ parts }: ViewProps) {
  return (
    <>
      <Crumbs trail={[{ text: "A sweep" }]} />
      <h1>A sweep</h1>
      <pre>{JSON.stringify(parts)}</pre>
    </>
  );
}
