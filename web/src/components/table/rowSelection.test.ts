import { act, renderHook } from "@testing-library/react";
import { expect, test } from "vitest";
import { rangeOf, useRowSelection } from "./rowSelection";

const IDS = ["a", "b", "c", "d"];
const ROWS = IDS.map((id) => ({ id, start_us: 1_000 }));
const idOf = (row: { id: string }) => row.id;

test("Shift extends from the last selected row, in both directions", () => {
  expect(rangeOf(IDS, "b", "d")).toEqual(["b", "c", "d"]);
  expect(rangeOf(IDS, "d", "b")).toEqual(["b", "c", "d"]);
  expect(rangeOf(IDS, null, "b")).toEqual(["b"]);
  expect(rangeOf(IDS, "gone", "b")).toEqual(["b"]);
});

test("another query has an empty selection", () => {
  const { result, rerender } = renderHook(({ list }) => useRowSelection(list, ROWS, idOf), {
    initialProps: { list: "runs" },
  });
  act(() => result.current.toggle("b"));
  act(() => result.current.extend("d"));
  expect(result.current.ids).toEqual(["b", "c", "d"]);
  rerender({ list: "runs status:error" });
  expect(result.current.ids).toEqual([]);
});

test("a row that is deselected ends the selection of all matching rows", () => {
  const { result } = renderHook(() => useRowSelection("runs", ROWS, idOf));
  act(() => result.current.selectAll(9));
  expect(result.current.total).toBe(9);
  act(() => result.current.toggle("c"));
  expect(result.current.until).toBeNull();
  expect(result.current.ids).toEqual(["a", "b", "d"]);
});

test("rows that start later are not part of the selection of all matching rows", () => {
  const { result, rerender } = renderHook(({ rows }) => useRowSelection("runs", rows, idOf), {
    initialProps: { rows: ROWS },
  });
  act(() => result.current.selectAll(4));
  const later = { id: "late", start_us: (Date.now() + 60_000) * 1_000 };
  rerender({ rows: [later, ...ROWS] });
  expect(result.current.has("late")).toBe(false);
  expect(result.current.has("a")).toBe(true);
  expect(result.current.total).toBe(4);
});
