// The state of a list in the address: its order, its columns, the row next to it.
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { type Column, columnsText, shownColumns } from "./columns";
import type { AnySort, ListSearch, Sort } from "./listSearch";
import type { Order } from "./useTableModel";

/** Reads and changes it. `columns` is a constant. */
export function useTableSearch<Row>(columns: readonly Column<Row>[]) {
  const search: ListSearch = useSearch({ strict: false });
  const change = useSearchChange();
  const shown = useMemo(
    () => shownColumns(columns, search.columns, search.query),
    [columns, search.columns, search.query],
  );
  return {
    shown,
    areChosen: search.columns !== undefined,
    onShown: (ids: ReadonlySet<string>) => change({ columns: columnsText(columns, ids) }),
    order: { sort: search.sort ?? "time", ascending: search.ascending === "true" } as Order,
    onOrder: ({ sort, ascending }: Order<AnySort>) =>
      change({
        sort: sort === "time" ? undefined : (sort as Sort),
        ascending: ascending ? "true" : undefined,
      }),
    peeked: search.peek,
    onPeek: (peek: string | undefined) => change({ peek }),
    isLive: search.live !== "off",
    onLive: (isLive: boolean) => change({ live: isLive ? undefined : "off" }),
  };
}

type Changed = { [name in keyof ListSearch]?: ListSearch[name] | undefined };

/** Changes parameters of a list in the address; undefined removes one. */
export function useSearchChange(): (changed: Changed) => void {
  const navigate = useNavigate();
  return (changed) => {
    const search = (now: ListSearch) => ({ ...now, ...changed });
    void navigate({ to: ".", search, replace: true } as never);
  };
}
