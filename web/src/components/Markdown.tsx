// A model's Markdown as React elements. Links lead only within the page, and images are not
// loaded.
import { lazy, Suspense } from "react";
import { LongText } from "./LongText";

const Rendered = lazy(() =>
  import("./RenderedMarkdown").then((module) => ({ default: module.RenderedMarkdown })),
);

export function Markdown({ text }: { text: string }) {
  return (
    <Suspense fallback={<LongText text={text} />}>
      <Rendered text={text} />
    </Suspense>
  );
}
