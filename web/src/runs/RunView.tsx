import { Crumbs } from "../crumbs";
import type { ViewProps } from "../routes";

export default function RunView({ parts }: ViewProps) {
  return (
    <>
      <Crumbs trail={[{ text: "A run" }]} />
      <h1>A run</h1>
      <pre>{JSON.stringify(parts)}</pre>
    </>
  );
}
