// All conversations that were recorded.
import { client, ok } from "../../api/client";
import { ListSearch } from "../../components/query/ListSearch";
import { useQueryText } from "../../components/query/queryText";
import { EmptyState } from "../../components/States";
import { ColumnsMenu } from "../../components/table/ColumnsMenu";
import { DataTable } from "../../components/table/DataTable";
import { useRowList } from "../../components/table/useRowList";
import { useTableSearch } from "../../components/table/useTableSearch";
import { Screen } from "../../shell/Screen";
import { THREAD_COLUMNS, threadId } from "./columns";

const EVENTS = ["SpanStarted", "SpanEnded", "SpansLeftOut"];
const PAGE = 100;

export function ThreadsScreen() {
  const { shown, onShown, order, onOrder, isLive } = useTableSearch(THREAD_COLUMNS);
  const { text } = useQueryText();
  const list = useRowList({
    key: ["threads", text, order],
    read: (cursor, signal) => {
      const query = {
        ...order,
        limit: PAGE,
        ...(text ? { query: text } : {}),
        ...(cursor ? { cursor } : {}),
      };
      return ok(client.GET("/api/v1/threads", { params: { query }, signal }));
    },
    idOf: threadId,
    events: isLive ? EVENTS : [],
  });
  return (
    <Screen
      title="Threads"
      fill
      actions={<ColumnsMenu columns={THREAD_COLUMNS} shown={shown} onShown={onShown} />}
    >
      <ListSearch view="threads" isLive={isLive}>
        <DataTable
          what="threads"
          columns={THREAD_COLUMNS}
          shown={shown}
          list={list}
          idOf={threadId}
          linkOf={(thread) => ({
            to: "/threads/$threadId",
            params: { threadId: thread.thread_id },
          })}
          order={order}
          onOrder={onOrder}
          empty={<EmptyState title="Nothing" />}
        />
      </ListSearch>
    </Screen>
  );
}
