// The totals of all matching runs or spans in one line. They are requested when the query has settled,
// since they are expensive, and seldom while they are updated live.
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { client, ok } from "../../api/client";
import type { RunTotals, Summary } from "../../api/schema";
import { Button } from "../../components/Button";
import { count, counted, milliseconds, totalCost } from "../../format/numbers";
import { WRITTEN } from "../../live/events";
import { pause } from "../../live/pause";
import { useLiveRefresh } from "../../live/useLiveRefresh";
import { inAndOut } from "./figures";
import styles from "./SummaryLine.module.css";

const PAUSE_MS = 400;
const APART_MS = 5_000;
const AFTER_MS = 1_000; // the rows come first
const REST = 10; // slow totals are requested again after a multiple of their own duration

interface Props {
  query: string;
  isLive: boolean;
  /** The rows of the list: the totals are those of all runs in it, or of all spans. */
  of: "runs" | "spans";
}

export function SummaryLine({ query, isLive, of }: Props) {
  const asked = useRested(query);
  const queries = useQueryClient();
  const queryKey = ["summary", of, asked];
  const read = useQuery({
    queryKey,
    queryFn: ({ signal }) => figuresRead(of, asked ?? "", signal),
    enabled: asked !== null,
    placeholderData: keepPreviousData,
  });
  useLiveRefresh(
    WRITTEN,
    async () => {
      await pause(AFTER_MS);
      const began = performance.now();
      await queries.refetchQueries({ queryKey, exact: true });
      await pause(REST * (performance.now() - began));
    },
    isLive && asked !== null,
    undefined,
    APART_MS,
  );
  if (read.error) {
    return (
      <p className={styles.line} role="status">
        The totals could not be read.{" "}
        <Button small kind="quiet" onPress={() => void read.refetch()}>
          Try again
        </Button>
      </p>
    );
  }
  const isOld = read.isPlaceholderData || asked !== query;
  return (
    <dl className={styles.line} aria-label={`Totals of all matching ${of}`} data-old={isOld}>
      {read.data?.map((figure) => (
        <Shown key={figure.name} {...figure} />
      ))}
    </dl>
  );
}

interface Figure {
  name: string;
  value: string;
  title?: string;
  isBad?: boolean;
  /** Left out if there is little room. */
  isMinor?: boolean;
}

function Shown({ name, value, title, isBad = false, isMinor = false }: Figure) {
  return (
    <div title={title} data-bad={isBad} data-minor={isMinor}>
      <dt>{name}</dt>
      <dd>
        {isBad && <span aria-hidden="true">✕ </span>}
        {value}
      </dd>
    </div>
  );
}

async function figuresRead(
  of: Props["of"],
  query: string,
  signal: AbortSignal,
): Promise<readonly Figure[]> {
  const params = { query: query ? { query } : {} };
  if (of === "spans") {
    return figuresOf(await ok(client.GET("/api/v1/summary", { params, signal })));
  }
  return figuresOfRuns(await ok(client.GET("/api/v1/run_totals", { params, signal })));
}

function figuresOfRuns(totals: RunTotals): Figure[] {
  const { duration } = totals;
  return [
    { name: "Runs", value: count(totals.runs), title: "All runs in the list" },
    {
      name: "Failed runs",
      value: count(totals.failed_runs),
      title: "Runs whose root failed",
      isBad: totals.failed_runs > 0,
    },
    { name: "Errors", value: count(totals.faults), isBad: totals.faults > 0 },
    { name: "Tokens", value: inAndOut(totals.tokens), title: "All model calls of the runs" },
    {
      name: "Cost",
      value: totalCost(totals),
      ...(totals.unpriced > 0
        ? { title: `Without ${counted(totals.unpriced, "call")} of unknown price` }
        : {}),
    },
    {
      name: "p50",
      value: milliseconds(duration.p50),
      title: `Duration of ${count(duration.n)} finished runs`,
    },
    { name: "p95", value: milliseconds(duration.p95) },
    { name: "p99", value: milliseconds(duration.p99), isMinor: true },
    { name: "Longest", value: milliseconds(duration.max), isMinor: true },
  ];
}

function figuresOf({ summary, latency, ttft }: Summary): Figure[] {
  const tokens = { input: summary.total_input_tokens, output: summary.total_output_tokens };
  const errors = summary.faults;
  return [
    { name: "Spans", value: count(summary.total_spans), title: "All spans that match the query" },
    { name: "Errors", value: count(errors), isBad: errors > 0 },
    {
      name: "Tokens",
      value: inAndOut(tokens),
      title: "Input and output tokens of all model calls",
    },
    {
      name: "Cost",
      value: totalCost({ cost: summary.total_cost, unpriced: summary.unpriced }),
      ...(summary.unpriced > 0
        ? { title: `Without ${counted(summary.unpriced, "call")} of unknown price` }
        : {}),
    },
    { name: "p50", value: milliseconds(latency.p50), title: "Median duration of all spans" },
    {
      name: "p95",
      value: milliseconds(latency.p95),
      title: "95 % of the spans took at most this long",
    },
    { name: "p99", value: milliseconds(latency.p99), isMinor: true },
    { name: "Longest", value: milliseconds(latency.max), isMinor: true },
    ...(ttft.n > 0
      ? [
          {
            name: "First token",
            value: milliseconds(ttft.p50),
            title: `Median time to the first token of ${counted(ttft.n, "call")}`,
            isMinor: true,
          },
        ]
      : []),
  ];
}

/** The query after a moment without changes; null before the first one. */
function useRested(query: string): string | null {
  const [rested, rest] = useState<string | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => rest(query), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [query]);
  return rested;
}
