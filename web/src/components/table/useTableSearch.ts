// What the address says of a list: its order, its columns, the row beside it.
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { type Column, columnsText, shownColumns } from "./columns";
import type { ListSearch } from "./listSearch";
import type { Order } from "./useTableModel";

/** Read and change it. `columns` is a constant. */
export function useTableSearch<Row>(columns: readonly Column<Row>[]) {
  const search: ListSearch = useSearch({ strict: false });
  const change = useSearchChange();
  const shown = useMemo(() => shownColumns(columns, search.columns), [columns, search.columns]);
  return {
    shown,
    onShown: (ids: ReadonlySet<string>) => change({ columns: columnsText(columns, ids) }),
    order: { sort: search.sort ?? "time", ascending: search.ascending === "true" } as Order,
    onOrder: ({ sort, ascending }: Order) =>
      change({
        sort: sort === "time" ? undefined : sort,
        ascending: ascending ? "true" : undefined,
      }),
    peeked: search.peek,
    onPeek: (peek: string | undefined) => change({ peek }),
    isLive: search.live !== "off",
    onLive: (isLive: boolean) => change({ live: isLive ? undefined : "off" }),
  };
}

type Changed = { [name in keyof ListSearch]?: ListSearch[name] | undefined };

/** Change some of what stands in the address of a list; undefined takes it out. */
export function useSearchChange(): (changed: Changed) => void {
  const navigate = useNavigate();
  return (changed) => {
    const search = (now: ListSearch) => ({ ...now, ...changed });
    void navigate({ to: ".", search, replace: true } as never);
  };
}
