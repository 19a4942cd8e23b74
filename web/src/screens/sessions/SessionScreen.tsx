// A session: its conversation on the current branch, running turns, and the message field.
import { useNavigate, useParams } from "@tanstack/react-router";
import { useCallback, useState } from "react";
import { Menu } from "../../components/Menu";
import { EmptyState, ErrorNotice, Loading } from "../../components/States";
import { ago, exactMoment } from "../../format/times";
import { Screen } from "../../shell/Screen";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { visible } from "../../text/visible";
import { useIsBegunHere, useLiveTurns } from "./liveTurns";
import { ProposalsOf } from "./ProposalsOf";
import { useChange, useSession } from "./queries";
import { SessionConversation } from "./SessionConversation";
import { DeleteSession, RenameSession } from "./SessionDialogs";

const HERE = "Session";

export function SessionScreen() {
  const { sessionId = "" } = useParams({ strict: false });
  // Another session is another screen: no state of this one may stay.
  return <Shown key={sessionId} id={sessionId} />;
}

function Shown({ id }: { id: string }) {
  const navigate = useNavigate();
  // A new session is saved with its first turn.
  const isBegunHere = useIsBegunHere(id);
  const [isSaved, setSaved] = useState(!isBegunHere);
  const noteSaved = useCallback(() => setSaved(true), []);
  const found = useSession(id, isSaved);
  const session = found.isGone ? undefined : found.data;
  const live = useLiveTurns(id, session);
  const [asking, ask] = useState<"rename" | "delete" | null>(null);
  useShortcut(
    { keys: "e", does: "Rename the session", where: HERE },
    () => ask("rename"),
    session !== undefined,
  );
  const change = useChange(id);
  const isReadOnly = session?.mode === "read_only";
  const isBegun = session !== undefined || live.turns.length > 0;
  // A session that was read before was deleted. Otherwise its first turn may still run.
  const isGone = found.isGone && (found.data !== undefined || !isBegun);
  const title = session ? visible(session.title) : (live.turns[0]?.question ?? "Session");
  return (
    <Screen
      title={title.slice(0, 200)}
      fill
      about={
        session && (
          <>
            <span>{visible(session.model)}</span>
            {isReadOnly && <span>read-only: no tool writes or runs anything</span>}
            <time title={exactMoment(session.updated_us)}>{ago(session.updated_us)}</time>
            <ProposalsOf id={id} />
          </>
        )
      }
      actions={
        session && (
          <Menu
            label="Session"
            actions={[
              {
                id: "mode",
                name: isReadOnly ? "Leave the read-only mode" : "Read-only mode",
                run: () => change.mutate({ mode: isReadOnly ? "normal" : "read_only" }),
              },
              { id: "rename", name: "Rename…", keys: "e", run: () => ask("rename") },
              { id: "delete", name: "Delete…", danger: true, run: () => ask("delete") },
            ]}
          />
        )
      }
    >
      {isGone ? (
        <EmptyState title="Session not found">
          The session was deleted, or it belongs to another repository.
        </EmptyState>
      ) : isBegun ? (
        <SessionConversation id={id} session={session} live={live} onSaved={noteSaved} />
      ) : found.isError ? (
        <ErrorNotice
          what="The session could not be read"
          error={found.error}
          onRetry={() => void found.refetch()}
        />
      ) : (
        <Loading what="the session" lines={12} />
      )}
      {session && (
        <>
          <RenameSession session={session} isOpen={asking === "rename"} onClose={() => ask(null)} />
          <DeleteSession
            session={session}
            isOpen={asking === "delete"}
            onClose={() => ask(null)}
            onDeleted={() => navigate({ to: "/sessions" })}
          />
        </>
      )}
    </Screen>
  );
}
