// A run: its trace, or one of its several traces.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { getJson, isNotFound } from "../../api/client";
import type { RunWithSpans } from "../../api/schema";
import { Badge } from "../../components/Badge";
import { Select } from "../../components/Select";
import { EmptyState, ErrorNotice, Loading } from "../../components/States";
import { WRITTEN } from "../../live/events";
import { useLiveRefresh } from "../../live/useLiveRefresh";
import { Screen } from "../../shell/Screen";
import { visible } from "../../text/visible";
import { CompareWith } from "../compare/CompareWith";
import type { RunSearch } from "../searches";
import { TraceAbout } from "../trace/TraceAbout";
import { type TraceChange, TraceView } from "../trace/TraceView";
import { useSkeleton } from "../trace/useSkeleton";
import { RunActions } from "./RunActions";
import { runTitle } from "./runTitle";
import { tracesOf } from "./tracesOf";

const MOST_SPANS = 500;
const APART_MS = 2_000;

export function RunScreen() {
  const { runId } = useParams({ from: "/runs/$runId" });
  const queries = useQueryClient();
  const queryKey = ["run", runId];
  const read = useQuery({
    queryKey,
    queryFn: ({ signal }) => {
      const address = `/api/v1/runs/${encodeURIComponent(runId)}?limit=${MOST_SPANS}`;
      return getJson<RunWithSpans>(address, signal);
    },
  });
  useLiveRefresh(
    WRITTEN,
    () => queries.refetchQueries({ queryKey, exact: true }),
    true,
    undefined,
    APART_MS,
  );
  // A deleted run is gone, whatever was known about it.
  if (isNotFound(read.error)) return <NoRun id={runId} />;
  if (read.data) return <OpenRun key={runId} run={read.data} />;
  const retry = () => void read.refetch();
  return (
    <Screen title="Run" fill>
      {read.error ? (
        <ErrorNotice what="The run could not be read" error={read.error} onRetry={retry} />
      ) : (
        <Loading what="the run" lines={12} />
      )}
    </Screen>
  );
}

function NoRun({ id }: { id: string }) {
  return (
    <Screen title="Run" fill>
      <EmptyState title="Run not found" action={<Link to="/runs">Show all runs</Link>}>
        Nothing is recorded under <code>{visible(id.slice(0, 200))}</code>: it was deleted, or its
        first span has not arrived yet.
      </EmptyState>
    </Screen>
  );
}

function OpenRun({ run }: { run: RunWithSpans }) {
  const search = useSearch({ from: "/runs/$runId" });
  const navigate = useNavigate({ from: "/runs/$runId" });
  const traces = useMemo(() => tracesOf(run), [run]);
  const traceId = search.trace ?? run.trace_id;
  const read = useSkeleton(traceId);
  const go = useCallback(
    (change: TraceChange & { trace?: string | undefined }) =>
      void navigate({ search: (now) => merged(now, change), replace: true, resetScroll: false }),
    [navigate],
  );
  return (
    <Screen
      title={visible(runTitle(run).slice(0, 120))}
      fill
      about={
        <>
          <Badge tone="plain">run</Badge>
          <TraceAbout {...read} ofRun />
        </>
      }
      actions={
        <>
          {traces.length > 1 && (
            <Select<string>
              label="Trace"
              value={traceId}
              options={traces}
              onChange={(trace) => go({ trace, span: undefined, zoom: undefined, find: undefined })}
            />
          )}
          <CompareWith of={run.run_id} />
          <RunActions run={run} onGone={() => navigate({ to: "/runs" })} />
        </>
      }
    >
      <TraceView key={traceId} {...read} search={search} onSearch={go} />
    </Screen>
  );
}

type Changed = { [name in keyof RunSearch]?: RunSearch[name] | undefined };

function merged(now: RunSearch, change: Changed): RunSearch {
  const next = Object.entries({ ...now, ...change }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(next) as RunSearch;
}
