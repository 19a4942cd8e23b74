import { expect, test } from "vitest";
import { putIn, type RowPage, type RowPages, refreshed, rowsOf, waitingIn } from "./liveRows";

interface Row {
  id: string;
  cost: number;
}

const idOf = (row: Row) => row.id;
const row = (id: string, cost = 0): Row => ({ id, cost });
const page = (ids: string, next: string | null = null, total = 9): RowPage<Row> => ({
  data: [...ids].map((id) => row(id)),
  pagination: { total, next_cursor: next },
});
const pages = (...all: RowPage<Row>[]): RowPages<Row> => ({
  pages: all,
  pageParams: all.map((_, at) => (at === 0 ? null : String(at))),
});
const ids = (shown: RowPages<Row>) => rowsOf(shown.pages, idOf).map(idOf).join("");

test("what has arrived is counted apart from what has moved up", () => {
  const rows = page("abcd").data;
  expect(waitingIn(rows, page("abcd"), idOf)).toEqual({ added: 0, moved: 0 });
  expect(waitingIn(rows, page("xyab"), idOf)).toEqual({ added: 2, moved: 0 });
  expect(waitingIn(rows, page("xcab"), idOf)).toEqual({ added: 1, moved: 1 });
  expect(waitingIn(rows, page("bcd"), idOf)).toEqual({ added: 0, moved: 0 });
});

test("rows are brought up to date in their places, and new ones stay out", () => {
  const newest = { ...page("xb"), data: [row("x"), row("b", 5)] };
  const shown = refreshed(pages(page("ab", "1"), page("cd")), newest, idOf);
  expect(ids(shown)).toBe("abcd");
  expect(shown.pages[0]?.data[1]).toEqual(row("b", 5));
});

test("the newest rows come on top, and the next page is still asked for behind the last", () => {
  const shown = putIn(pages(page("ab", "1"), page("cd", "2")), page("xca", "other", 10), idOf);
  expect(ids(shown)).toBe("xcabd");
  expect(shown.pages.at(-1)?.pagination.next_cursor).toBe("2");
  expect(shown.pages[0]?.pagination.total).toBe(10);
});

test("a list begins anew where more has arrived than one page holds", () => {
  const shown = putIn(pages(page("ab", "1"), page("cd", "2")), page("xyz", "new"), idOf);
  expect(shown).toEqual({ pages: [page("xyz", "new")], pageParams: [null] });
});

test("a list that is followed for long does not grow without end", () => {
  const many = Array.from({ length: 990 }, (_, at) => row(`old${at}`));
  const long = { data: many, pagination: { total: null, next_cursor: "1" } };
  const newest = {
    data: [...Array.from({ length: 20 }, (_, at) => row(`new${at}`)), row("old0")],
    pagination: { total: null, next_cursor: "2" },
  };
  expect(rowsOf(putIn(pages(long), newest, idOf).pages, idOf)).toHaveLength(21);
});

test("a row that two pages hold is shown once", () => {
  expect(ids(pages(page("ab"), page("bc")))).toBe("abc");
});
