import { Crumbs } from "../crumbs";
import type { ViewProps } from "../routes";

export default function CaseView({ parts }: ViewProps) {
  return (
    <>
      <Crumbs trail={[{ text: "A case" }]} />
      <h1>A case</h1>
      <pre>{JSON.stringify(parts)}</pre>
    </>
  );
}
