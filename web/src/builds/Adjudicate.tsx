import { Crumbs } from "../crumbs";
import type { ViewProps } from "../routes";

export default function Adjudicate({ parts }: ViewProps) {
  return (
    <>
      <Crumbs trail={[{ text: "Questions" }]} />
      <h1>Questions</h1>
      <pre>{JSON.stringify(parts)}</pre>
    </>
  );
}
