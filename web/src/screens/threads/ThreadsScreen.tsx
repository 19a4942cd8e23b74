// All recorded threads.

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
import { THREAD_COLUMNS, threadId } from "./columns";

const PAGE = 100;

export function ThreadsScreen() {
  const { shown, onShown, isLive } = useTableSearch(THREAD_COLUMNS);
  return (
    <Screen
      title="Threads"
      fill
      actions={<ColumnsMenu columns={THREAD_COLUMNS} shown={shown} onShown={onShown} />}
    >
      <ListSearch view="threads" isLive={isLive}>
        {(query) => <ThreadTable query={query} />}
      </ListSearch>
    </Screen>
  );
}

function ThreadTable({ query }: { query: string }) {
  const { shown, areChosen, order, onOrder, isLive } = useTableSearch(THREAD_COLUMNS);
  const list = useRowList({
    key: ["threads", query, order],
    read: (cursor, signal) => {
      const asked = {
        ...order,
        limit: PAGE,
        ...(query ? { query } : {}),
        ...(cursor ? { cursor } : {}),
      };
      return ok(client.GET("/api/v1/threads", { params: { query: asked }, signal }));
    },
    idOf: threadId,
    events: isLive ? WRITTEN : [],
  });
  const selected = useRowSelection(`threads ${query}`, list.rows, threadId);
  return (
    <DataTable
      what="threads"
      columns={THREAD_COLUMNS}
      shown={shown}
      areChosen={areChosen}
      list={list}
      idOf={threadId}
      linkOf={(thread) => ({ to: "/threads/$threadId", params: { threadId: thread.thread_id } })}
      order={order}
      onOrder={onOrder}
      selection={selected}
      actions={
        <SelectionBar
          view="threads"
          query={query}
          list={list}
          idOf={threadId}
          selection={selected}
        />
      }
      empty={<NoRows what="threads" query={query} />}
    />
  );
}
