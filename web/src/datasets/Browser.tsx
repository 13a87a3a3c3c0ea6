import { Crumbs } from "../crumbs";
import type { ViewProps } from "../routes";

export default function Browser({ parts }: ViewProps) {
  return (
    <>
      <Crumbs trail={[{ text: "A dataset" }]} />
      <h1>A dataset</h1>
      <pre>{JSON.stringify(parts)}</pre>
    </>
  );
}
