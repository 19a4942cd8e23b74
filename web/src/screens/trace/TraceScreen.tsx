// The trace at an address.
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import { Screen } from "../../shell/Screen";
import { visible } from "../../text/visible";
import { CompareWith } from "../compare/CompareWith";
import { nameAt } from "./model/tree";
import { TraceAbout } from "./TraceAbout";
import { type TraceChange, TraceView } from "./TraceView";
import { useSkeleton } from "./useSkeleton";

export function TraceScreen() {
  const { traceId } = useParams({ from: "/traces/$traceId" });
  const search = useSearch({ from: "/traces/$traceId" });
  const navigate = useNavigate({ from: "/traces/$traceId" });
  const read = useSkeleton(traceId);
  const onSearch = useCallback(
    (change: TraceChange) =>
      void navigate({ search: (now) => merged(now, change), replace: true, resetScroll: false }),
    [navigate],
  );
  const title = read.tree
    ? visible(nameAt(read.tree, read.skeleton?.root ?? 0).slice(0, 120))
    : "Trace";
  return (
    <Screen
      title={title}
      about={<TraceAbout {...read} />}
      actions={<CompareWith of={traceId} />}
      fill
    >
      <TraceView key={traceId} {...read} search={search} onSearch={onSearch} />
    </Screen>
  );
}

function merged<Search extends object>(now: Search, change: TraceChange): Search {
  const next = Object.entries({ ...now, ...change }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(next) as Search;
}
