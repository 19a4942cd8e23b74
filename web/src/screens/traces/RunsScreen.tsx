// All recorded runs, or their totals in groups.

import { useSearch } from "@tanstack/react-router";
import { client, ok } from "../../api/client";
import { ListSearch } from "../../components/query/ListSearch";
import { NoRows } from "../../components/query/NoRows";
import { ColumnsMenu } from "../../components/table/ColumnsMenu";
import { DataTable } from "../../components/table/DataTable";
import { useRowSelection } from "../../components/table/rowSelection";
import { useRowList } from "../../components/table/useRowList";
import { useTableSearch } from "../../components/table/useTableSearch";
import { WRITTEN } from "../../live/events";
import { Screen } from "../../shell/Screen";
import { SelectionBar } from "../selection/SelectionBar";
import { useSelection } from "../trace/useSelection";
import { GroupTable } from "./GroupTable";
import { bucketOf } from "./grouping";
import { ListTools } from "./ListTools";
import { RunPeek } from "./peek/index";
import { PeekBeside } from "./peek/PeekBeside";
import { RUN_COLUMNS, runId } from "./runColumns";
import { SummaryLine } from "./SummaryLine";

const PAGE = 100;

export function RunsScreen() {
  const { shown, onShown, isLive, onLive } = useTableSearch(RUN_COLUMNS);
  const { group, bucket } = useSearch({ from: "/runs" });
  return (
    <Screen
      title="Runs"
      fill
      actions={!group && <ColumnsMenu columns={RUN_COLUMNS} shown={shown} onShown={onShown} />}
    >
      <ListSearch view="runs" isLive={isLive} tools={<ListTools isLive={isLive} onLive={onLive} />}>
        {(query) => (
          <>
            <SummaryLine of="runs" query={query} isLive={isLive} />
            {group ? (
              <GroupTable
                what="runs"
                query={query}
                by={group}
                bucketSeconds={bucketOf(bucket)}
                isLive={isLive}
              />
            ) : (
              <RunTable query={query} />
            )}
          </>
        )}
      </ListSearch>
    </Screen>
  );
}

function RunTable({ query }: { query: string }) {
  const { shown, areChosen, order, onOrder, isLive, peeked, onPeek } = useTableSearch(RUN_COLUMNS);
  const list = useRowList({
    key: ["runs", query, order],
    read: (cursor, signal) => {
      const asked = {
        ...order,
        limit: PAGE,
        ...(query ? { query } : {}),
        ...(cursor ? { cursor } : {}),
      };
      return ok(client.GET("/api/v1/runs", { params: { query: asked }, signal }));
    },
    idOf: runId,
    events: isLive ? WRITTEN : [],
  });
  const selected = useRowSelection(`runs ${query}`, list.rows, runId);
  // Moving through rows is fast: the address follows when the selection has settled.
  const selection = useSelection(peeked, onPeek);
  const close = () => selection.choose(undefined);
  const leave = () => {
    close();
    list.retry();
  };
  return (
    <PeekBeside
      what="run"
      peeked={selection.id}
      onClose={close}
      panel={(id) => <RunPeek runId={id} rows={list.rows} onGone={leave} />}
    >
      <DataTable
        what="runs"
        columns={RUN_COLUMNS}
        shown={shown}
        areChosen={areChosen}
        list={list}
        idOf={runId}
        linkOf={(run) => ({ to: "/runs/$runId", params: { runId: run.run_id } })}
        order={order}
        onOrder={onOrder}
        peeked={selection.id}
        onPeek={selection.choose}
        selection={selected}
        actions={
          <SelectionBar view="runs" query={query} list={list} idOf={runId} selection={selected} />
        }
        empty={<NoRows what="runs" query={query} />}
      />
    </PeekBeside>
  );
}
