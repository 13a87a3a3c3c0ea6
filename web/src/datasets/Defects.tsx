import { Crumbs } from "../crumbs";
import type { ViewProps } from "../routes";

export default function Defects({ parts }: ViewProps) {
  return (
    <>
      <Crumbs trail={[{ text: "Defects" }]} />
      <h1>Defects</h1>
      <pre>{JSON.stringify(parts)}</pre>
    </>
  );
}
