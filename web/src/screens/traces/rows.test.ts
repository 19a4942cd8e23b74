// What the lists of runs and spans show of the server's rows.
import { expect, test } from "vitest";
import type { ListedSpan } from "../../api/schema";
import { shownColumns } from "../../components/table/columns";
import { idsIn, spanKey } from "../../format/spanKey";
import { runTitle } from "./runTitle";
import { HIT_COLUMNS, hitColumns, SPAN_COLUMNS } from "./spanColumns";
import { tracesOf } from "./tracesOf";

const ids = (columns: readonly { id: string }[]) => columns.map((column) => column.id).join(" ");

test("where something was found stands behind the name, whatever columns are chosen", () => {
  expect(ids(hitColumns(shownColumns(SPAN_COLUMNS, "cost,model")))).toBe("name found model cost");
  expect(ids(hitColumns(shownColumns(SPAN_COLUMNS, undefined)))).toMatch(/^name found status/);
  // A table shows its own columns: they must be identical.
  for (const column of hitColumns(SPAN_COLUMNS)) expect(HIT_COLUMNS).toContain(column);
});

test("a span in an address is the same span when it is read again", () => {
  for (const key of ["t/s", "a/b/c", "%2F", "é x", "?&#"]) {
    const span = { trace_id: key, span_id: `${key}!` };
    expect(idsIn(spanKey(span))).toEqual(span);
  }
  for (const odd of ["", "t", "t/", "/s", "a/b/c", "%/s"]) expect(idsIn(odd)).toBeNull();
});

test("a run is called by what was asked, else by its name", () => {
  const run = { run_id: "r", name: "agent", question: " Why? " };
  expect(runTitle(run)).toBe("Why?");
  expect(runTitle({ ...run, question: null })).toBe("agent");
  expect(runTitle({ ...run, question: " ", name: "" })).toBe("r");
});

test("each trace of a run is told once, in the order of the spans", () => {
  const span = (trace_id: string, name: string) =>
    ({ trace_id, name, operation: "chat", start_us: 0 }) as ListedSpan;
  const spans = (...data: ListedSpan[]) => ({
    data,
    pagination: { offset: 0, limit: 9, total: null, next_cursor: null },
  });
  const told = tracesOf({
    trace_id: "b",
    spans: spans(span("a", "x"), span("b", "y"), span("a", "z")),
  });
  expect(told.map((trace) => trace.id)).toEqual(["a", "b"]);
  expect(told[0]?.name).toMatch(/^1\. x, /);
  const cut = tracesOf({ trace_id: "root", spans: spans(span("a", "x")) });
  expect(ids(cut)).toBe("root a");
});
