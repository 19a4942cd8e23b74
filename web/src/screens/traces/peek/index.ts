// What is shown beside a list, loaded when a row is first looked at.
import { lazy } from "react";

export const RunPeek = lazy(() => import("./RunPeek").then(({ RunPeek: it }) => ({ default: it })));
export const SpanPeek = lazy(() =>
  import("./SpanPeek").then(({ SpanPeek: it }) => ({ default: it })),
);
