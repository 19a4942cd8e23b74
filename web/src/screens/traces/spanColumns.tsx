// The columns of the list of spans.
import type { Hit, ListedSpan } from "../../api/schema";
import { Badge, KindMark, StatusBadge } from "../../components/Badge";
import { SpanName } from "../../components/SpanName";
import { Took } from "../../components/Took";
import { Ago, Labels, Names } from "../../components/table/cells";
import type { Column } from "../../components/table/columns";
import { isModelCall } from "../../format/calls";
import { cost, duration } from "../../format/numbers";
import { visible } from "../../text/visible";
import { Excerpt } from "./Excerpt";
import { inAndOut, metadataText } from "./figures";
import styles from "./Spans.module.css";

/** A span of a list, with the location of the match if a text was searched. */
export type SpanRow = ListedSpan &
  Partial<Pick<Hit, "field" | "excerpt">> & { ranges?: readonly (readonly number[])[] };

export const SPAN_COLUMNS: readonly Column<SpanRow>[] = [
  {
    id: "name",
    name: "Span",
    width: 11,
    grows: 3,
    isLink: true,
    cell: (span) => (
      <span className={styles.name}>
        <KindMark kind={span.kind} />
        <span className={styles.words}>
          <SpanName kind={span.kind} name={visible((span.name || span.operation).slice(0, 300))} />
        </span>
      </span>
    ),
  },
  {
    id: "status",
    name: "Status",
    width: 6,
    narrow: (span) => span.status !== "ok",
    cell: (span) => <StatusBadge status={span.status} lastUs={span.start_us} quiet />,
  },
  {
    id: "error",
    name: "Error",
    width: 14,
    grows: 4,
    hidden: true,
    isWanted: (query) => /(^|\s)(status:error|has:error|error:)/.test(query),
    cell: (span) => <span title={visible(span.error ?? "")}>{visible(span.error ?? "")}</span>,
  },
  {
    id: "started",
    name: "Started",
    width: 6,
    sort: "time",
    narrow: true,
    cell: (span) => <Ago at={span.start_us} />,
  },
  {
    id: "model",
    name: "Model",
    width: 9,
    grows: 1,
    narrow: (span) => span.model !== null,
    cell: (span) => <Names names={span.model === null ? [] : [span.model]} />,
  },
  {
    id: "duration",
    name: "Duration",
    width: 6,
    align: "end",
    sort: "duration",
    narrow: (span) => span.duration_us !== null || span.status === "unfinished",
    cell: (span) =>
      span.end_us !== null && span.end_us < span.start_us ? (
        <Badge
          tone="warn"
          title="This span ended before it started, because its clock went backwards"
        >
          clock skew
        </Badge>
      ) : (
        <Took status={span.status} took={span.duration_us} startUs={span.start_us} />
      ),
  },
  {
    id: "ttft",
    name: "First token",
    width: 5.5,
    optional: true,
    align: "end",
    cell: (span) => (span.kind === "model" ? duration(span.time_to_first_token_us) : ""),
  },
  {
    id: "tokens",
    name: "Tokens",
    width: 7,
    align: "end",
    sort: "tokens",
    cell: (span) => (isModelCall(span.kind) ? inAndOut(span.tokens) : ""),
  },
  {
    id: "cost",
    name: "Cost",
    width: 6.5,
    align: "end",
    sort: "cost",
    narrow: (span) => span.cost !== null,
    cell: (span) => (isModelCall(span.kind) ? cost(span.cost) : ""),
  },
  {
    id: "run",
    name: "Run",
    width: 7,
    hidden: true,
    cell: (span) => <span title={span.run_id}>{visible(span.run_id)}</span>,
  },
  {
    id: "labels",
    name: "Labels",
    width: 11,
    hidden: true,
    cell: (span) => <Labels labels={span.labels} />,
  },
  {
    id: "user",
    name: "User",
    width: 7,
    hidden: true,
    cell: (span) => visible(span.user ?? ""),
  },
  {
    id: "release",
    name: "Release",
    width: 5,
    hidden: true,
    cell: (span) => visible(span.release ?? ""),
  },
  {
    id: "metadata",
    name: "Metadata",
    width: 12,
    grows: 1,
    hidden: true,
    cell: (span) => visible(metadataText(span.metadata)),
  },
  {
    id: "input",
    name: "Input",
    width: 12,
    grows: 2,
    hidden: true,
    cell: (span) => visible(span.input_preview ?? ""),
  },
  {
    id: "output",
    name: "Output",
    width: 12,
    grows: 2,
    hidden: true,
    cell: (span) => visible(span.output_preview ?? ""),
  },
  {
    id: "operation",
    name: "Operation",
    width: 8,
    hidden: true,
    cell: (span) => visible(span.operation),
  },
  {
    id: "provider",
    name: "Provider",
    width: 7,
    hidden: true,
    cell: (span) => visible(span.provider ?? ""),
  },
  {
    id: "thread",
    name: "Thread",
    width: 9,
    hidden: true,
    cell: (span) => visible(span.thread_id),
  },
  {
    id: "trace",
    name: "Trace",
    width: 12,
    hidden: true,
    cell: (span) => <code>{visible(span.trace_id)}</code>,
  },
  {
    id: "id",
    name: "Id",
    width: 10,
    hidden: true,
    cell: (span) => <code>{visible(span.span_id)}</code>,
  },
];

const FOUND: Column<SpanRow> = {
  id: "found",
  name: "Found",
  width: 20,
  grows: 6,
  narrow: (span) => Boolean(span.excerpt),
  cell: (span) => <Excerpt hit={span} />,
};

/** In a text search, the location of the match follows the name. */
export const HIT_COLUMNS: readonly Column<SpanRow>[] = SPAN_COLUMNS.flatMap((column) =>
  column.isLink ? [column, FOUND] : [{ ...column, narrow: false }],
);

/** The hit columns that belong to the shown ones. */
export function hitColumns(shown: readonly Column<SpanRow>[]): readonly Column<SpanRow>[] {
  const ids = new Set(shown.map((column) => column.id));
  return HIT_COLUMNS.filter((column) => column === FOUND || ids.has(column.id));
}
