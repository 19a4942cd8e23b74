// A session: its saved turns with their branches, its running turns, and the message field.
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useRef, useState } from "react";
import type { RunSummary, Session, TurnRecord } from "../../api/schema";
import { Button } from "../../components/Button";
import { Menu } from "../../components/Menu";
import { useNotices } from "../../components/Notices";
import { ErrorNotice } from "../../components/States";
import {
  ConversationView,
  useRunningTurns,
  useSpokenAnswer,
} from "../../conversation/ConversationView";
import { type Ended, LiveTurnView } from "../../conversation/LiveTurnView";
import { SavedTurnView } from "../../conversation/SavedTurnView";
import { exactMoment, moment } from "../../format/times";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { visible } from "../../text/visible";
import { type BranchTurn, treeOf } from "./branches";
import { Forks } from "./Forks";
import { type Followed, useSend, useSteer } from "./liveTurns";
import { MessageField } from "./MessageField";
import { sessionKey, useChange, useRuns, useTurnRecords } from "./queries";
import { runOf } from "./runs";
import styles from "./Sessions.module.css";
import { savedMessages } from "./savedMessages";

const HERE = "Session";

interface Props {
  id: string;
  /** Undefined while nothing of it is saved. */
  session: Session | undefined;
  live: Followed & { forget: () => void };
  /** Called when a turn has ended: by then it can be read. */
  onSaved: () => void;
}

export function SessionConversation({ id, session, live, onSaved }: Props) {
  const queries = useQueryClient();
  const { tell } = useNotices();
  const change = useChange(id);
  const sending = useSend();
  const runs = useRuns(id);
  const records = useTurnRecords(id, session !== undefined);
  const running = useRunningTurns();
  const { spoken, note } = useSpokenAnswer();
  const steered = useSteeredMessages();
  const field = useRef<HTMLTextAreaElement>(null);
  const tree = session ? treeOf(session) : { turns: [], further: [] };
  const saved = savedBefore(tree.turns, live.from);
  const branch = (at: number, notice: string) =>
    change.mutate(
      { at },
      {
        onSuccess: () => {
          live.forget();
          tell({ kind: "good", text: notice });
          field.current?.focus();
        },
      },
    );
  const send = (text: string) => sending.mutate({ text, session: id, model: null });
  const onEnded = useCallback(
    (ended: Ended) => {
      note(ended);
      steered.drop(ended.requestId);
      onSaved();
      void queries.invalidateQueries({ queryKey: sessionKey(id) });
    },
    [queries, id, note, steered.drop, onSaved],
  );
  useShortcut({ keys: "m", does: "Write a message", where: HERE }, () => field.current?.focus());
  const canBranch = running.current === null && !change.isPending;
  return (
    <ConversationView
      pending={sending.isPending ? sending.variables.text : null}
      where={HERE}
      stop={running.stop}
      spoken={spoken}
      field={
        <Field
          id={id}
          running={running.current}
          isBusy={sending.isPending}
          onSend={send}
          steered={steered}
          ref={field}
        />
      }
    >
      {saved.map((turn, at) => {
        const run = runOf(turn, runs.data?.data ?? []);
        return (
          <BranchTurnView
            key={turn.end}
            turn={turn}
            run={run}
            record={records.data?.get(run?.trace_id ?? "")}
            isLast={at === saved.length - 1 && live.turns.length === 0}
            onAskAgain={send}
            onBranch={canBranch ? branch : null}
          />
        );
      })}
      {live.turns.map((turn) => (
        <LiveTurnView
          key={turn.requestId}
          live={turn}
          saved={null}
          onAskAgain={send}
          onRunning={running.note}
          onEnded={onEnded}
        />
      ))}
      {steered.list.map((each) => (
        <p key={each.key} className={styles.said}>
          Guidance: {visible(each.text)}
        </p>
      ))}
      {live.turns.length > 0 && canBranch && session && (
        <div>
          <Button small kind="quiet" onPress={live.forget}>
            Reload to branch
          </Button>
        </div>
      )}
      {live.turns.length === 0 && (
        <Forks
          forks={tree.further}
          label="Branches that continue from here"
          onChoose={(fork) => branch(fork.end, "Switched to that branch.")}
          isDisabled={!canBranch}
        />
      )}
      <Failures sending={sending} change={change} />
    </ConversationView>
  );
}

interface BranchTurnProps {
  turn: BranchTurn;
  /** The recorded run of the turn; null if it is unknown. */
  run: RunSummary | null;
  record: TurnRecord | undefined;
  isLast: boolean;
  onAskAgain: (question: string) => void;
  /** Null while branching is not possible. */
  onBranch: ((at: number, notice: string) => void) | null;
}

function BranchTurnView({ turn, run, record, isLast, onAskAgain, onBranch }: BranchTurnProps) {
  const { question, before, end, others } = turn;
  const isDisabled = onBranch === null;
  const branches = [
    ...(isLast
      ? []
      : [
          {
            id: "after",
            name: "Continue from here",
            run: () => onBranch?.(end, "The next message continues from here."),
            isDisabled,
          },
        ]),
    ...(before === null
      ? []
      : [
          {
            id: "before",
            name: "Replace this message",
            run: () => onBranch?.(before, "The next message replaces this one."),
            isDisabled,
          },
        ]),
  ];
  const footer = (
    <>
      {question && <time title={exactMoment(question.at_us)}>{moment(question.at_us)}</time>}
      {branches.length > 0 && (
        <Menu label="Branch" aria-label="Branch at this turn" actions={branches} />
      )}
    </>
  );
  return (
    <div className={styles.turn}>
      <Forks
        forks={others}
        label="Other branches here"
        onChoose={(fork) => onBranch?.(fork.end, "Switched to that branch.")}
        isDisabled={isDisabled}
      />
      <SavedTurnView
        saved={savedMessages(turn, run, record)}
        onAskAgain={onAskAgain}
        footer={footer}
      />
    </div>
  );
}

/** The saved turns that begin before a position in the branch. */
function savedBefore(turns: ReturnType<typeof treeOf>["turns"], from: number) {
  let position = 0;
  return turns.filter((turn) => {
    const begins = position;
    position += turn.messages.length;
    return begins < from;
  });
}

function Failures({
  sending,
  change,
}: {
  sending: ReturnType<typeof useSend>;
  change: ReturnType<typeof useChange>;
}) {
  return (
    <>
      {sending.error && (
        <ErrorNotice
          what="The message was not accepted"
          error={sending.error}
          onRetry={() => sending.variables && sending.mutate(sending.variables)}
        />
      )}
      {change.error && <ErrorNotice what="The session was not changed" error={change.error} />}
    </>
  );
}

interface FieldProps {
  /** The id of the conversation. */
  id: string;
  /** The request of the running turn; null if none runs. */
  running: string | null;
  isBusy: boolean;
  onSend: (text: string) => void;
  steered: ReturnType<typeof useSteeredMessages>;
  ref: React.RefObject<HTMLTextAreaElement | null>;
}

/** While a turn runs, a message steers it. The other button sends a separate message. */
function Field({ id, running, isBusy, onSend, steered, ref }: FieldProps) {
  const steering = useSteer();
  const steer = (text: string) => {
    if (running === null) return;
    steering.mutate(
      { requestId: running, text },
      { onSuccess: ({ taken }) => (taken ? steered.add(running, text) : onSend(text)) },
    );
  };
  const shared = { of: id, ref, isBusy: isBusy || steering.isPending, label: "Message" };
  return (
    <>
      {steering.error && (
        <ErrorNotice what="The guidance did not reach the turn" error={steering.error} />
      )}
      {running === null ? (
        <MessageField
          {...shared}
          placeholder="Ask about the code, or ask for a change"
          act="Send"
          onSend={onSend}
        />
      ) : (
        <MessageField
          {...shared}
          placeholder="Add guidance for the running turn"
          act="Add guidance"
          onSend={steer}
          other={{
            act: "Queue",
            tip: "Sends a separate message after this turn",
            onSend,
          }}
        />
      )}
    </>
  );
}

/** Messages that were sent to running turns. */
function useSteeredMessages() {
  const [list, setList] = useState<readonly { key: string; requestId: string; text: string }[]>([]);
  const add = useCallback((requestId: string, text: string) => {
    setList((now) => [...now, { key: `${requestId} ${now.length}`, requestId, text }]);
  }, []);
  const drop = useCallback((requestId: string) => {
    setList((now) => {
      const left = now.filter((each) => each.requestId !== requestId);
      return left.length === now.length ? now : left;
    });
  }, []);
  return { list, add, drop };
}
