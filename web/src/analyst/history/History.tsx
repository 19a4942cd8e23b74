// The conversations with the analyst, newest first: open, rename, delete.
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { client, ok } from "../../api/client";
import type { ListedConversation } from "../../api/schema";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { Menu } from "../../components/Menu";
import { EmptyState, ErrorNotice, Loading } from "../../components/States";
import { TextField } from "../../components/TextField";
import { ago } from "../../format/times";
import { TURNS } from "../../live/events";
import { useLiveRefresh } from "../../live/useLiveRefresh";
import { visible } from "../../text/visible";
import { conversationsKey } from "../conversation/useAnalystConversation";
import { NEW } from "../dock";
import styles from "./History.module.css";

const PAGE = 50;

interface Props {
  /** The id of the open conversation. */
  shown: string;
  onOpen: (conversation: string) => void;
}

export function History({ shown, onOpen }: Props) {
  const listed = useInfiniteQuery({
    queryKey: conversationsKey,
    queryFn: ({ pageParam, signal }) =>
      ok(
        client.GET("/api/v1/agents/conversations", {
          params: { query: { offset: pageParam, limit: PAGE } },
          signal,
        }),
      ),
    initialPageParam: 0,
    getNextPageParam: ({ pagination }) =>
      pagination.more ? pagination.offset + pagination.limit : undefined,
  });
  const queries = useQueryClient();
  useLiveRefresh(TURNS, () => queries.invalidateQueries({ queryKey: conversationsKey }));
  const [renaming, rename] = useState<ListedConversation | null>(null);
  const [deleting, remove] = useState<ListedConversation | null>(null);
  if (listed.isLoading) return <Loading what="the conversations" />;
  if (listed.error) {
    return (
      <ErrorNotice
        what="The conversations could not be read"
        error={listed.error}
        onRetry={() => void listed.refetch()}
      />
    );
  }
  const rows = listed.data?.pages.flatMap((page) => page.data) ?? [];
  if (rows.length === 0) {
    return (
      <EmptyState title="No questions yet.">
        Your conversations with the analyst appear here.
      </EmptyState>
    );
  }
  return (
    <>
      <ul className={styles.list}>
        {rows.map((row) => (
          <li key={row.id} className={styles.row} data-shown={row.id === shown}>
            <button
              type="button"
              className={styles.open}
              aria-current={row.id === shown}
              onClick={() => onOpen(row.id)}
            >
              <span className={styles.title}>{visible(row.title || "Untitled")}</span>
              <span className={styles.about}>
                {visible(row.agent ?? "")} ·{" "}
                {row.questions === 1 ? "1 question" : `${row.questions} questions`} ·{" "}
                {ago(row.updated_us)}
              </span>
            </button>
            <Menu
              label=""
              aria-label={`Actions for ${row.title || "the conversation"}`}
              actions={[
                { id: "rename", name: "Rename…", run: () => rename(row) },
                { id: "delete", name: "Delete…", run: () => remove(row), danger: true },
              ]}
            />
          </li>
        ))}
      </ul>
      {listed.hasNextPage && (
        <Button small onPress={() => void listed.fetchNextPage()} isDisabled={listed.isFetching}>
          Show more
        </Button>
      )}
      <Renaming row={renaming} onDone={() => rename(null)} />
      <Deleting
        row={deleting}
        onDone={(gone) => {
          remove(null);
          if (gone && deleting?.id === shown) onOpen(NEW);
        }}
      />
    </>
  );
}

function Renaming({ row, onDone }: { row: ListedConversation | null; onDone: () => void }) {
  const queries = useQueryClient();
  const [title, setTitle] = useState("");
  useEffect(() => setTitle(row?.title ?? ""), [row]);
  const renaming = useMutation({
    mutationFn: (id: string) =>
      ok(
        client.PATCH("/api/v1/agents/conversations/{conversation}", {
          params: { path: { conversation: id } },
          body: { title: title.trim() },
        }),
      ),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: conversationsKey });
      onDone();
    },
  });
  const save = () => {
    if (row && title.trim()) renaming.mutate(row.id);
  };
  return (
    <Dialog
      title="Rename the conversation"
      isOpen={row !== null}
      onOpenChange={(open) => !open && onDone()}
      actions={
        <Button kind="primary" onPress={save} isDisabled={!title.trim() || renaming.isPending}>
          Rename
        </Button>
      }
    >
      <TextField
        label="Title"
        value={title}
        onChange={setTitle}
        autoFocus
        onKeyDown={(event) => event.key === "Enter" && save()}
      />
      {renaming.error && (
        <ErrorNotice what="The conversation could not be renamed" error={renaming.error} />
      )}
    </Dialog>
  );
}

function Deleting({
  row,
  onDone,
}: {
  row: ListedConversation | null;
  onDone: (gone: boolean) => void;
}) {
  const queries = useQueryClient();
  const deleting = useMutation({
    mutationFn: (id: string) =>
      ok(
        client.DELETE("/api/v1/agents/conversations/{conversation}", {
          params: { path: { conversation: id } },
        }),
      ),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: conversationsKey });
      onDone(true);
    },
  });
  return (
    <Dialog
      title="Delete the conversation?"
      isOpen={row !== null}
      onOpenChange={(open) => !open && onDone(false)}
      alert
      actions={
        <>
          <Button onPress={() => onDone(false)}>Cancel</Button>
          <Button
            kind="danger"
            onPress={() => row && deleting.mutate(row.id)}
            isDisabled={deleting.isPending}
          >
            Delete
          </Button>
        </>
      }
    >
      <p>“{visible(row?.title ?? "")}” is deleted permanently. Its traces stay.</p>
      {deleting.error && (
        <ErrorNotice what="The conversation could not be deleted" error={deleting.error} />
      )}
    </Dialog>
  );
}
