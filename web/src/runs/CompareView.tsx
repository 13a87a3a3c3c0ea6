import { Crumbs } from "../crumbs";
import type { ViewProps } from "../routes";

export default function CompareView({ parts }: ViewProps) {
  return (
    <>
      <Crumbs trail={[{ text: "Readers compared" }]} />
      <h1>Readers compared</h1>
      <pre>{JSON.stringify(parts)}</pre>
    </>
  );
}
