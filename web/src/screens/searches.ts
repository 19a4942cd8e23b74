// The parameters that each screen keeps in its address. Others are dropped.
import { listSearch } from "../components/table/listSearch";
import { choice, text } from "../search";

type Given = Record<string, unknown>;

export const DETAIL_TABS = ["formatted", "json", "metadata", "events"] as const;
export type DetailTab = (typeof DETAIL_TABS)[number];

export const threads = listSearch;
export const runs = listSearch;
export const spans = listSearch;

export interface ThreadSearch {
  /** The marked run of the thread. */
  run?: string;
}
export const thread = (given: Given): ThreadSearch => text(given, ["run"]);

export interface TraceSearch {
  span?: string;
  tab?: DetailTab;
  /** The search text within the trace. */
  find?: string;
  /** The visible part of the time as two fractions, "0.25-0.5". */
  zoom?: string;
  /** "true": the critical path is marked. */
  critical?: "true";
}
export function trace(given: Given): TraceSearch {
  const tab = choice(given.tab, DETAIL_TABS);
  return {
    ...text(given, ["span", "find", "zoom"]),
    ...(tab ? { tab } : {}),
    ...(String(given.critical) === "true" ? { critical: "true" as const } : {}),
  };
}

export interface RunSearch extends TraceSearch {
  /** The shown trace of the run; the first by default. */
  trace?: string;
}
export const run = (given: Given): RunSearch => ({ ...trace(given), ...text(given, ["trace"]) });

export interface CompareSearch {
  /** The id of a run, trace or thread; of a span: "TRACE/SPAN". */
  a?: string;
  b?: string;
}
export const compare = (given: Given): CompareSearch => text(given, ["a", "b"]);

export interface NewExperimentSearch {
  trace?: string;
  span?: string;
}
export const newExperiment = (given: Given): NewExperimentSearch => text(given, ["trace", "span"]);

export const EXPERIMENT_TABS = ["request", "results", "history"] as const;
export type ExperimentTab = (typeof EXPERIMENT_TABS)[number];

export interface ExperimentSearch {
  tab?: ExperimentTab;
  /** The version that the request is compared with. */
  version?: string;
  batch?: string;
  /** The base of the comparison: a variant, or "recorded". */
  base?: string;
  /** "json": the request as JSON. */
  edit?: "json";
  /** The call of a data set, and its run: both from 0. */
  item?: string;
  repeat?: string;
}
export function experiment(given: Given): ExperimentSearch {
  const tab = choice(given.tab, EXPERIMENT_TABS);
  return {
    ...text(given, ["version", "batch", "base", "item", "repeat"]),
    ...(tab ? { tab } : {}),
    ...(given.edit === "json" ? { edit: "json" as const } : {}),
  };
}

export const proposals = (given: Given): { state?: string } => text(given, ["state"]);
export const breakpoints = (given: Given): { held?: string } => text(given, ["held"]);
export const tools = (given: Given): { tool?: string; find?: string } =>
  text(given, ["tool", "find"]);
export const models = (given: Given): { find?: string } => text(given, ["find"]);
export const settings = (given: Given): { find?: string; part?: string } =>
  text(given, ["find", "part"]);
