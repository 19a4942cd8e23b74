// Named views of a list: the parameters in the address, except the row next to it.
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { client, ok } from "../../api/client";
import type { ViewList } from "../../api/schema";
import { useLiveEvents } from "../../live/LiveProvider";
import { parseSearch, stringifySearch } from "../../search";
import type { ListSearch } from "../table/listSearch";
import type { View } from "./views";

export type SavedView = ViewList["data"][number];
export type Kept = Pick<SavedView, "query" | "search" | "columns">;

function viewsOf(screen: View) {
  return queryOptions({
    queryKey: ["views", screen],
    queryFn: ({ signal }) =>
      ok(client.GET("/api/v1/views", { params: { query: { screen } }, signal })),
  });
}

/** The parameters of a list in the address. */
export function keptOf(search: ListSearch): Kept {
  const { query = "", columns, sort, ascending, group, bucket } = search;
  return {
    query,
    search: stringifySearch({ sort, ascending, group, bucket }).slice(1),
    columns: columns ? columns.split(",") : [],
  };
}

/** The address of a view. */
export function searchOf(view: Kept): ListSearch {
  return {
    ...parseSearch(view.search),
    ...(view.query ? { query: view.query } : {}),
    ...(view.columns.length > 0 ? { columns: view.columns.join(",") } : {}),
  };
}

export function isSame(one: Kept, other: Kept): boolean {
  return (
    one.query === other.query &&
    one.search === other.search &&
    one.columns.join() === other.columns.join()
  );
}

/** The saved views of a list, the current one, and the actions on them. */
export function useSavedViews(screen: View) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const search: ListSearch & { analyst?: string } = useSearch({ strict: false });
  const saved = useQuery(viewsOf(screen));
  const reread = () => queries.invalidateQueries({ queryKey: ["views"] });
  useLiveEvents(["UiChanged"], () => void reread());
  const shown = keptOf(search);
  const views = saved.data?.data ?? [];
  return {
    views,
    shown,
    current: views.find((view) => isSame(view, shown)),
    error: saved.error,
    open: (view: SavedView) => {
      const { analyst } = search;
      void navigate({
        to: ".",
        search: { ...searchOf(view), ...(analyst ? { analyst } : {}) },
      } as never);
    },
    save: async (name: string) => {
      await ok(client.POST("/api/v1/views", { body: { screen, name, ...shown } }));
      await reread();
    },
    change: async (view: SavedView, changed: Partial<Kept & { name: string }>) => {
      const params = { path: { view_id: view.id } };
      await ok(client.PATCH("/api/v1/views/{view_id}", { params, body: changed }));
      await reread();
    },
    remove: async (view: SavedView) => {
      const params = { path: { view_id: view.id } };
      await ok(client.DELETE("/api/v1/views/{view_id}", { params }));
      await reread();
    },
  };
}
