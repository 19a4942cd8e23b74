import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { act, configure, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { ShortcutProvider } from "../../shortcuts/ShortcutProvider";
import type { Column } from "./columns";
import { DataTable } from "./DataTable";
import { NOTHING_WAITS } from "./liveRows";
import type { RowList } from "./useRowList";

configure({ asyncUtilTimeout: 4_000 });

interface Row {
  id: string;
  cost: number;
}

const COLUMNS: readonly Column<Row>[] = [
  { id: "name", name: "Name", width: 10, grows: 1, isLink: true, cell: (row) => row.id },
  { id: "cost", name: "Cost", width: 5, align: "end", sort: "cost", cell: (row) => row.cost },
];
const idOf = (row: Row) => row.id;
const ROWS = Array.from({ length: 40 }, (_, at) => ({ id: `row-${at}`, cost: at }));

const LIST: RowList<Row> = {
  rows: ROWS,
  total: 90,
  state: "shown",
  error: null,
  isOld: false,
  hasMore: false,
  isLoadingMore: false,
  loadMore: () => {},
  retry: () => {},
  waiting: NOTHING_WAITS,
  putIn: () => {},
};

async function shown(list: RowList<Row> = LIST) {
  // The size that a browser would report.
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockReturnValue(400);
  vi.spyOn(HTMLElement.prototype, "offsetWidth", "get").mockReturnValue(1_000);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(400);
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(1_000);
  const told = { onOrder: vi.fn(), onPeek: vi.fn() };
  const root = createRootRoute();
  const here = createRoute({
    getParentRoute: () => root,
    path: "/",
    component: () => (
      <ShortcutProvider>
        <DataTable
          what="rows"
          columns={COLUMNS}
          shown={COLUMNS}
          list={list}
          idOf={idOf}
          linkOf={(row) => ({ to: "/threads/$threadId", params: { threadId: row.id } })}
          order={{ sort: "cost", ascending: false }}
          empty="nothing"
          {...told}
        />
      </ShortcutProvider>
    ),
  });
  const there = createRoute({ getParentRoute: () => root, path: "/threads/$threadId" });
  const router = createRouter({
    routeTree: root.addChildren([here, there]),
    history: createMemoryHistory({ initialEntries: ["/"] }),
  });
  render(<RouterProvider router={router as never} />);
  const grid = await screen.findByRole("grid");
  const active = () => {
    const id = grid.getAttribute("aria-activedescendant");
    return id && document.getElementById(id)?.textContent;
  };
  return { grid, active, router, user: userEvent.setup(), ...told };
}

test("the keys move through the rows, and Enter opens one", async () => {
  const { grid, active, router, user } = await shown();
  act(() => grid.focus());
  expect(active()).toContain("row-0");
  await user.keyboard("{ArrowDown}j");
  expect(active()).toContain("row-2");
  await user.keyboard("k{ArrowUp}{ArrowUp}");
  expect(active()).toContain("row-0");
  await user.keyboard("{End}");
  expect(active()).toContain("row-39");
  await user.keyboard("{PageUp}");
  expect(active()).toContain("row-30");
  await user.keyboard("{Home}{ArrowDown}{Enter}");
  await waitFor(() => expect(router.state.location.pathname).toBe("/threads/row-1"));
});

test("j begins at the first row, wherever the focus is", async () => {
  const { grid, active, user } = await shown();
  await user.keyboard("j");
  expect(document.activeElement).toBe(grid);
  expect(active()).toContain("row-0");
});

test("Space shows a row beside the list", async () => {
  const { grid, user, onPeek } = await shown();
  act(() => grid.focus());
  await user.keyboard("{ArrowDown} ");
  expect(onPeek).toHaveBeenCalledWith("row-1");
});

test("it says how many rows there are, which these are, and how they are sorted", async () => {
  const { grid, user, onOrder } = await shown();
  expect(grid.getAttribute("aria-rowcount")).toBe("91");
  expect(screen.getAllByRole("row").map((row) => row.getAttribute("aria-rowindex"))).toContain("2");
  const header = screen.getByRole("columnheader", { name: /Cost/ });
  expect(header.getAttribute("aria-sort")).toBe("descending");
  await user.click(screen.getByRole("button", { name: "Cost" }));
  expect(onOrder).toHaveBeenCalledWith({ sort: "cost", ascending: true });
});

test("a click shows a row beside the list, but not one that ends a selection of text", async () => {
  const { router, user, onPeek } = await shown();
  const cell = screen.getByText("3");
  vi.spyOn(window, "getSelection").mockReturnValue({ isCollapsed: false } as Selection);
  await user.click(cell);
  expect(onPeek).not.toHaveBeenCalled();
  vi.restoreAllMocks();
  await user.click(cell);
  expect(onPeek).toHaveBeenCalledWith("row-3");
  expect(router.state.location.pathname).toBe("/");
  await user.click(screen.getByRole("link", { name: "row-3" }));
  await waitFor(() => expect(router.state.location.pathname).toBe("/threads/row-3"));
});

test("rows that arrive while one has the focus wait until they are asked for", async () => {
  const putIn = vi.fn();
  const { grid, user } = await shown({ ...LIST, waiting: { added: 12, moved: 0 }, putIn });
  expect(putIn).toHaveBeenCalled();
  putIn.mockClear();
  act(() => grid.focus());
  await user.keyboard("{ArrowDown}");
  expect(putIn).not.toHaveBeenCalled();
  expect(screen.getByRole("button", { name: "12 new" })).toBeTruthy();
  await user.keyboard("n");
  expect(putIn).toHaveBeenCalledOnce();
});
