import { Crumbs } from "../crumbs";
import type { ViewProps } from "../routes";

export default function TraceView({ parts }: ViewProps) {
  return (
    <>
      <Crumbs trail={[{ text: "A reading" }]} />
      <h1>A reading</h1>
      <pre>{JSON.stringify(parts)}</pre>
    </>
  );
}
