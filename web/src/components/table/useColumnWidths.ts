// The widths of columns that a person chose, kept for each list in this browser.
import { useState } from "react";
import type { Widths } from "./columns";

const KEPT = "treadle.widths.";

export function useColumnWidths(what: string): [Widths, (widths: Widths) => void] {
  const [widths, setWidths] = useState(() => keptWidths(what));
  const change = (next: Widths) => {
    setWidths(next);
    localStorage.setItem(KEPT + what, JSON.stringify(next));
  };
  return [widths, change];
}

function keptWidths(what: string): Widths {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEPT + what) ?? "{}");
    if (typeof kept !== "object" || kept === null) return {};
    return Object.fromEntries(Object.entries(kept).filter(([, width]) => Number.isFinite(width)));
  } catch {
    return {};
  }
}
