import { Crumbs } from "../crumbs";
import type { ViewProps } from "../routes";

export default function SideBySide({ parts }: ViewProps) {
  return (
    <>
      <Crumbs trail={[{ text: "One case, two readers" }]} />
      <h1>One case, two readers</h1>
      <pre>{JSON.stringify(parts)}</pre>
    </>
  );
}
