// Treadle's own conversations about the repository, last changed first, and the field for a new
// one.
import { Link, useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import type { ConversationSummary } from "../../api/schema";
import { Button } from "../../components/Button";
import { type PlainColumn, PlainTable } from "../../components/PlainTable";
import { EmptyState, ErrorNotice, Loading } from "../../components/States";
import { TextField } from "../../components/TextField";
import { useRowKeys } from "../../components/table/rowFocus";
import { cost, count } from "../../format/numbers";
import { ago, exactMoment } from "../../format/times";
import { Screen } from "../../shell/Screen";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { visible } from "../../text/visible";
import { useSend } from "./liveTurns";
import { MessageField } from "./MessageField";
import { useCosts, useSessions } from "./queries";
import styles from "./Sessions.module.css";
import { StopBadge } from "./StopBadge";

export function SessionsScreen() {
  const found = useSessions();
  const rows = found.data?.pages.flatMap((page) => page.data) ?? [];
  const costs = useCosts(rows.map((row) => row.id));
  const field = useRef<HTMLTextAreaElement>(null);
  useShortcut({ keys: "n", does: "Ask in a new session", where: "Sessions" }, () =>
    field.current?.focus(),
  );
  useRowKeys("sessions");
  return (
    <Screen title="Sessions">
      <Begin field={field} />
      {found.isPending ? (
        <Loading what="the sessions" />
      ) : found.isError && rows.length === 0 ? (
        <ErrorNotice
          what="The sessions could not be read"
          error={found.error}
          onRetry={() => void found.refetch()}
        />
      ) : rows.length === 0 ? (
        <EmptyState title="No sessions" snippet={`treadle ask "How does it start?"`}>
          A session is a conversation with the assistant about this repository, which reads the code
          and proposes changes. Ask above, or from the terminal:
        </EmptyState>
      ) : (
        <PlainTable
          label="Sessions"
          columns={columnsWith(costs.data)}
          rows={rows}
          idOf={(row) => row.id}
        />
      )}
      {found.hasNextPage && (
        <div className={styles.more}>
          <Button isDisabled={found.isFetchingNextPage} onPress={() => void found.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
    </Screen>
  );
}

function Begin({ field }: { field: React.RefObject<HTMLTextAreaElement | null> }) {
  const navigate = useNavigate();
  const [model, setModel] = useState("");
  const sending = useSend((sessionId) => {
    void navigate({ to: "/sessions/$sessionId", params: { sessionId } });
  });
  const send = (text: string) =>
    sending.mutate({ text, session: null, model: model.trim() || null });
  return (
    <div className={styles.begin}>
      <MessageField
        ref={field}
        of="new"
        label="First message of a new session"
        placeholder="Ask about the code, or ask for a change"
        act="Ask"
        isBusy={sending.isPending}
        onSend={send}
        below={
          <TextField
            label="Model"
            hideLabel
            value={model}
            onChange={setModel}
            placeholder="Model (default from settings)"
          />
        }
      />
      {sending.error && (
        <ErrorNotice
          what="The session could not be started"
          error={sending.error}
          onRetry={() => sending.variables && sending.mutate(sending.variables)}
        />
      )}
    </div>
  );
}

type Costs = ReadonlyMap<string, number | null> | undefined;

function columnsWith(costs: Costs): readonly PlainColumn<ConversationSummary>[] {
  return [
    {
      id: "title",
      name: "Session",
      isTitle: true,
      grows: true,
      cell: (row) => (
        <Link to="/sessions/$sessionId" params={{ sessionId: row.id }}>
          {visible(row.title) || "(no title)"}
        </Link>
      ),
    },
    { id: "end", name: "Last turn", cell: (row) => <StopBadge reason={row.stop_reason} /> },
    { id: "turns", name: "Turns", align: "end", cell: (row) => count(row.turns) },
    { id: "cost", name: "Cost", align: "end", cell: (row) => cost(costs?.get(row.id)) },
    { id: "model", name: "Model", cell: (row) => visible(row.model) },
    {
      id: "changed",
      name: "Changed",
      cell: (row) => <time title={exactMoment(row.updated_us)}>{ago(row.updated_us)}</time>,
    },
  ];
}
