// Reports to the server which labels a list is filtered by, so that its tools know what a person
// sees.
import { useEffect, useRef } from "react";
import { useUiChange } from "../../mirror/MirrorProvider";
import { chosenValues } from "./editing";
import { useParsed } from "./queryText";
import type { View } from "./views";

export function useSaidLabels(view: View, text: string): void {
  const change = useUiChange();
  const parsed = useParsed(text);
  const said = useRef("");
  useEffect(() => {
    if (!parsed || parsed.problem) return;
    const labels = [...chosenValues(parsed.terms, "label")];
    const saying = JSON.stringify([view, labels]);
    if (saying === said.current) return;
    said.current = saying;
    void change({ label_filters: { [view]: labels } }).catch(() => {});
  }, [view, parsed, change]);
}
