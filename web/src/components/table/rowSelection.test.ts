import { act, renderHook } from "@testing-library/react";
import { expect, test } from "vitest";
import { rangeOf, useRowSelection } from "./rowSelection";

const ROWS = ["a", "b", "c", "d"];
const idOf = (row: string) => row;

test("Shift extends from the last selected row, in both directions", () => {
  expect(rangeOf(ROWS, "b", "d")).toEqual(["b", "c", "d"]);
  expect(rangeOf(ROWS, "d", "b")).toEqual(["b", "c", "d"]);
  expect(rangeOf(ROWS, null, "b")).toEqual(["b"]);
  expect(rangeOf(ROWS, "gone", "b")).toEqual(["b"]);
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
  act(() => result.current.selectAll());
  expect(result.current.until).not.toBeNull();
  act(() => result.current.toggle("c"));
  expect(result.current.until).toBeNull();
  expect(result.current.ids).toEqual(["a", "b", "d"]);
});
