// One thread: its messages, next to its runs.

import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { client, ok } from "../../api/client";
import type { RunSummary, ThreadSummary } from "../../api/schema";
import { Badge } from "../../components/Badge";
import { Menu } from "../../components/Menu";
import { Origin, originOf } from "../../components/Origin";
import { written } from "../../components/query/editing";
import { EmptyState, ErrorNotice, Loading } from "../../components/States";
import { TotalCost } from "../../components/TotalCost";
import { useRowList } from "../../components/table/useRowList";
import { useCopy } from "../../components/useCopy";
import { htmlExport, useDownload } from "../../components/useDownload";
import { count, counted, shortCount } from "../../format/numbers";
import { WRITTEN } from "../../live/events";
import { useLiveRefresh } from "../../live/useLiveRefresh";
import { Screen } from "../../shell/Screen";
import { cut, visible } from "../../text/visible";
import { CompareWith } from "../compare/CompareWith";
import { Conversation } from "./Conversation";
import { DeleteThread } from "./DeleteThread";
import { RunList } from "./RunList";
import { titleOf, tokensOf } from "./rows";
import styles from "./ThreadScreen.module.css";

const RUNS = 10; // each is read with its messages
const runId = (run: RunSummary) => run.run_id;

export function ThreadScreen() {
  const { threadId } = useParams({ from: "/threads/$threadId" });
  const saving = useDownload();
  const copy = useCopy();
  const query = `thread:${written(threadId)}`;
  const thread = useQuery({
    queryKey: ["thread", threadId],
    queryFn: ({ signal }) => {
      const asked = { query, limit: 1 };
      return ok(client.GET("/api/v1/threads", { params: { query: asked }, signal }));
    },
  });
  useLiveRefresh(WRITTEN, () => thread.refetch());
  const runs = useRowList<RunSummary>({
    key: ["thread", threadId, "runs"],
    read: (cursor, signal) => {
      const asked = { query, limit: RUNS, ...(cursor ? { cursor } : {}) };
      return ok(client.GET("/api/v1/runs", { params: { query: asked }, signal }));
    },
    idOf: runId,
    events: WRITTEN,
  });
  const found = thread.data?.data[0];
  if (thread.data && !found) return <Missing threadId={threadId} />;
  return (
    <Screen
      title={found ? shortTitle(found) : "Thread"}
      fill
      about={found && <Sums thread={found} runs={runs.rows} />}
      actions={
        <>
          <CompareWith of={threadId} />
          <Menu
            label="Actions"
            actions={[
              { id: "id", name: "Copy the id", run: () => void copy(threadId) },
              {
                id: "export",
                name: "Copy the export command",
                run: () => void copy(`treadle traces export ${inShell(query)}`),
              },
              {
                id: "html",
                name: "Save as an HTML page",
                run: () => saving.mutate(htmlExport(threadId)),
              },
            ]}
          />
          <DeleteThread threadId={threadId} thread={found} />
        </>
      }
    >
      {thread.error && !found ? (
        <ErrorNotice
          what="The thread could not be read"
          error={thread.error}
          onRetry={() => void thread.refetch()}
        />
      ) : runs.state === "loading" ? (
        <Loading what="the conversation" lines={12} />
      ) : (
        <div className={styles.parts}>
          <Conversation runs={runs} />
          <RunList threadId={threadId} runs={runs} />
        </div>
      )}
    </Screen>
  );
}

/** A word quoted for a shell. */
function inShell(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

function shortTitle(thread: ThreadSummary): string {
  const line = titleOf(thread).split("\n", 1)[0] ?? "";
  const { shown, left } = cut(line, 120);
  return visible(left > 0 ? `${shown}…` : shown);
}

/** The sums, and the origin of the runs that are loaded. */
function Sums({ thread, runs }: { thread: ThreadSummary; runs: readonly RunSummary[] }) {
  const { sums } = thread;
  return (
    <>
      <span>{counted(thread.runs, "run")}</span>
      <span>{counted(sums.model_calls, "model call")}</span>
      <span>{counted(sums.tool_calls, "tool call")}</span>
      <span>{shortCount(tokensOf(sums))} tokens</span>
      {sums.cost === null ? <span>cost unknown</span> : <TotalCost sums={sums} />}
      {sums.faults > 0 && <Badge tone="bad">✕ {counted(sums.faults, "error")}</Badge>}
      {sums.unfinished > 0 && <Badge tone="accent">… {count(sums.unfinished)} unfinished</Badge>}
      {thread.models.map((model) => (
        <code key={model}>{visible(model)}</code>
      ))}
      <Origin of={{ ...originOf(runs), labels: thread.labels }} list="/threads" />
    </>
  );
}

function Missing({ threadId }: { threadId: string }) {
  return (
    <Screen title="Thread">
      <EmptyState title="Thread not found">
        Nothing is recorded under <code>{visible(threadId)}</code>. It may have been deleted. See{" "}
        <Link to="/threads">all threads</Link>.
      </EmptyState>
    </Screen>
  );
}
