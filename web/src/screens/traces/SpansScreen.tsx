// All recorded spans. With words in the query, also where they were found.

import { useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { client, ok } from "../../api/client";
import { ListSearch } from "../../components/query/ListSearch";
import { NoRows } from "../../components/query/NoRows";
import { useParsed } from "../../components/query/queryText";
import { ColumnsMenu } from "../../components/table/ColumnsMenu";
import { DataTable } from "../../components/table/DataTable";
import type { RowPage } from "../../components/table/liveRows";
import { useRowSelection } from "../../components/table/rowSelection";
import { useRowList } from "../../components/table/useRowList";
import { useTableSearch } from "../../components/table/useTableSearch";
import { spanKey } from "../../format/spanKey";
import { WRITTEN } from "../../live/events";
import { Screen } from "../../shell/Screen";
import { SelectionBar } from "../selection/SelectionBar";
import { useSelection } from "../trace/useSelection";
import { GroupTable } from "./GroupTable";
import { bucketOf } from "./grouping";
import { ListTools } from "./ListTools";
import { SpanPeek } from "./peek/index";
import { PeekBeside } from "./peek/PeekBeside";
import { SummaryLine } from "./SummaryLine";
import { HIT_COLUMNS, hitColumns, SPAN_COLUMNS, type SpanRow } from "./spanColumns";

const PAGE = 100;

export function SpansScreen() {
  const { shown, onShown, isLive, onLive } = useTableSearch(SPAN_COLUMNS);
  const { group, bucket } = useSearch({ from: "/traces" });
  return (
    <Screen
      title="Spans"
      fill
      actions={!group && <ColumnsMenu columns={SPAN_COLUMNS} shown={shown} onShown={onShown} />}
    >
      <ListSearch
        view="spans"
        isLive={isLive}
        tools={<ListTools isLive={isLive} onLive={onLive} />}
      >
        {(query) => (
          <>
            <SummaryLine of="spans" query={query} isLive={isLive} />
            {group ? (
              <GroupTable
                what="spans"
                query={query}
                by={group}
                bucketSeconds={bucketOf(bucket)}
                isLive={isLive}
              />
            ) : (
              <SpanTable query={query} />
            )}
          </>
        )}
      </ListSearch>
    </Screen>
  );
}

/** Whether the query has words, so that matches have a location. */
function useSearchesText(query: string): boolean {
  const terms = useParsed(query)?.terms ?? [];
  return terms.some((term) => term.field === "text" && !term.negated);
}

function SpanTable({ query }: { query: string }) {
  const isSearch = useSearchesText(query);
  const { shown, areChosen, order, onOrder, isLive, peeked, onPeek } = useTableSearch(SPAN_COLUMNS);
  const hitsShown = useMemo(() => hitColumns(shown), [shown]);
  const list = useRowList<SpanRow>({
    key: [isSearch ? "hits" : "spans", query, order],
    read: (cursor, signal): Promise<RowPage<SpanRow>> => {
      const asked = {
        ...order,
        limit: PAGE,
        ...(query ? { query } : {}),
        ...(cursor ? { cursor } : {}),
      };
      const path = isSearch ? "/api/v1/search" : "/api/v1/spans";
      return ok(client.GET(path, { params: { query: asked }, signal }));
    },
    idOf: spanKey,
    events: isLive ? WRITTEN : [],
  });
  const selected = useRowSelection(`spans ${query}`, list.rows, spanKey);
  // Moving through rows is fast: the address follows when the selection has settled.
  const selection = useSelection(peeked, onPeek);
  return (
    <PeekBeside
      what="span"
      peeked={selection.id}
      onClose={() => selection.choose(undefined)}
      panel={(key) => <SpanPeek spanKey={key} rows={list.rows} />}
    >
      <DataTable
        key={isSearch ? "hits" : "spans"}
        what="spans"
        columns={isSearch ? HIT_COLUMNS : SPAN_COLUMNS}
        shown={isSearch ? hitsShown : shown}
        areChosen={areChosen}
        list={list}
        idOf={spanKey}
        linkOf={(span) => ({
          to: "/traces/$traceId",
          params: { traceId: span.trace_id },
          search: { span: span.span_id },
        })}
        order={order}
        onOrder={onOrder}
        peeked={selection.id}
        onPeek={selection.choose}
        selection={selected}
        actions={
          <SelectionBar
            view="spans"
            query={query}
            list={list}
            idOf={spanKey}
            selection={selected}
          />
        }
        empty={<NoRows what="spans" query={query} />}
      />
    </PeekBeside>
  );
}
