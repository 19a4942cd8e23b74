// The panel next to a list, loaded on first use.
import { lazy } from "react";

export const RunPeek = lazy(() => import("./RunPeek").then(({ RunPeek: it }) => ({ default: it })));
export const SpanPeek = lazy(() =>
  import("./SpanPeek").then(({ SpanPeek: it }) => ({ default: it })),
);
