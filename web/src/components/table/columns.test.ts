import { expect, test } from "vitest";
import { type Column, fittingColumns, shownColumns, tracksOf } from "./columns";

const column = (id: string, width: number, more: Partial<Column<null>> = {}): Column<null> => ({
  id,
  name: id,
  width,
  cell: () => null,
  ...more,
});

const COLUMNS = [
  column("name", 12, { isLink: true, grows: 1 }),
  column("status", 6),
  column("error", 8, { hidden: true, isWanted: (query) => query.includes("status:error") }),
  column("model", 8),
  column("cost", 6, { sort: "cost" }),
];

const ids = (columns: readonly Column<null>[]) => columns.map((each) => each.id).join(" ");

test("in a narrow list the name and the sorted column stay, then what fits", () => {
  expect(ids(fittingColumns(COLUMNS, 10, "cost"))).toBe("name cost");
  expect(ids(fittingColumns(COLUMNS, 24, "cost"))).toBe("name status cost");
  expect(ids(fittingColumns(COLUMNS, 99, "cost"))).toBe("name status error model cost");
});

test("an optional column is left out first, and a chosen width counts", () => {
  const columns = COLUMNS.map((each) =>
    each.id === "status" ? { ...each, optional: true } : each,
  );
  expect(ids(fittingColumns(columns, 26, "cost"))).toBe("name error cost");
  expect(ids(fittingColumns(columns, 26, "cost", { error: 10 }))).toBe("name cost");
});

test("a list of errors shows the errors, unless a person chose the columns", () => {
  expect(ids(shownColumns(COLUMNS, undefined, "status:error"))).toContain("error");
  expect(ids(shownColumns(COLUMNS, undefined, "model:m"))).not.toContain("error");
  expect(ids(shownColumns(COLUMNS, "model", "status:error"))).toBe("name model");
});

test("a width that a person chose replaces the default", () => {
  expect(tracksOf(COLUMNS.slice(0, 2), { name: 20 })).toEqual({ tracks: "20rem 6rem", least: 26 });
});
