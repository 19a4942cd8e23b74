// The chips of what is open. A removed chip stays away until another screen opens.
import { useQuery } from "@tanstack/react-query";
import { useRouterState } from "@tanstack/react-router";
import { useState } from "react";
import { chosenValues } from "../../components/query/editing";
import { parsing } from "../../components/query/queryText";
import { type Chip, chipsOf, contextOf, sameChip } from "../context";

export function useScreenContext() {
  const pathname = useRouterState({ select: (state) => state.location.pathname });
  const search = useRouterState({ select: (state) => state.location.search });
  const labels = useLabels(search as Record<string, unknown>);
  const [removed, setRemoved] = useState<{ at: string; chips: readonly Chip[] }>({
    at: pathname,
    chips: [],
  });
  const away = removed.at === pathname ? removed.chips : [];
  const chips = chipsOf({ pathname, search: search as Record<string, unknown> }, labels).filter(
    (chip) => !away.some((other) => sameChip(chip, other)),
  );
  return {
    chips,
    context: contextOf(pathname, chips),
    remove: (chip: Chip) => setRemoved({ at: pathname, chips: [...away, chip] }),
  };
}

/** The labels that the list on the screen is filtered by, as the server parses its query. */
function useLabels(search: Readonly<Record<string, unknown>>): readonly string[] {
  const query = typeof search.query === "string" ? search.query : "";
  const mayHaveLabels = query.includes("label");
  const read = useQuery({ ...parsing(query), enabled: mayHaveLabels });
  return mayHaveLabels && read.data ? [...chosenValues(read.data.terms, "label")] : [];
}
