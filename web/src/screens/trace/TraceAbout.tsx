// The main figures of a trace, with links to its run and thread.
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Skeleton } from "../../api/schema";
import { StatusBadge } from "../../components/Badge";
import { Origin, originOf } from "../../components/Origin";
import { Took } from "../../components/Took";
import { TotalCost } from "../../components/TotalCost";
import { count, shortCount } from "../../format/numbers";
import { exactMoment, moment } from "../../format/times";
import { sumsOf } from "./model/notable";
import { type Tree, textAt } from "./model/tree";
import type { TraceRead } from "./useSkeleton";

interface Props extends Pick<TraceRead, "tree" | "skeleton"> {
  /** It is shown as one trace of its run. */
  ofRun?: boolean;
}

export function TraceAbout({ tree, skeleton, ofRun = false }: Props) {
  const sums = useMemo(() => (tree ? sumsOf(tree) : null), [tree]);
  if (!tree || !skeleton || !sums) return null;
  const { run_id: runId, thread_id: threadId, start_us: startUs } = skeleton;
  return (
    <>
      <StatusBadge status={statusOf(tree, skeleton.root)} lastUs={skeleton.last_us} />
      <span title={exactMoment(startUs)}>{moment(startUs)}</span>
      <span>
        <Took
          status={statusOf(tree, skeleton.root)}
          took={wholeTime(tree, skeleton)}
          startUs={startUs}
          lastUs={skeleton.last_us}
        />
      </span>
      <span>{tree.count === 1 ? "1 span" : `${count(tree.count)} spans`}</span>
      {sums.input !== null && (
        <span title="Input and output tokens of all model calls">
          {shortCount(sums.input)} → {shortCount(sums.output)} tokens
        </span>
      )}
      {sums.cost !== null && <TotalCost sums={sums} />}
      {ofRun && (
        <Link to="/traces/$traceId" params={{ traceId: skeleton.trace_id }}>
          Trace
        </Link>
      )}
      {!ofRun && runId !== skeleton.trace_id && (
        <Link to="/runs/$runId" params={{ runId }}>
          Run
        </Link>
      )}
      <Link to="/threads/$threadId" params={{ threadId }} search={{ run: runId }}>
        Thread
      </Link>
      <Origin of={originOf([skeleton])} list="/runs" />
    </>
  );
}

/**
 * If the clock of a trace stood still or went backwards, the root's duration is used, which may be
 * unknown.
 */
function wholeTime(tree: Tree, { start_us, last_us, root }: Skeleton): number | null {
  const whole = last_us - start_us;
  return whole > 0 ? whole : root === null ? null : (tree.durations[root] ?? null);
}

function statusOf(tree: Tree, root: number | null): string {
  return root === null ? "unfinished" : textAt(tree, tree.statuses, root);
}
