import { Crumbs } from "../crumbs";
import type { ViewProps } from "../routes";

export default function BuildView({ parts }: ViewProps) {
  return (
    <>
      <Crumbs trail={[{ text: "A build" }]} />
      <h1>A build</h1>
      <pre>{JSON.stringify(parts)}</pre>
    </>
  );
}
