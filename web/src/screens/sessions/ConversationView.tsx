// The turns of a conversation, saved and running, and the field to go on.
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useRef, useState } from "react";
import { type Ended, LiveTurnView } from "../../analyst/conversation/LiveTurnView";
import { useStickToEnd } from "../../analyst/conversation/useStickToEnd";
import type { Session } from "../../api/schema";
import { Button } from "../../components/Button";
import { useNotices } from "../../components/Notices";
import { ErrorNotice } from "../../components/States";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { visible } from "../../text/visible";
import { treeOf } from "./branches";
import { Forks } from "./Forks";
import { type Followed, useSend, useSteer } from "./liveTurns";
import { MessageField } from "./MessageField";
import { sessionKey, useChange, useRuns } from "./queries";
import { runOf } from "./runs";
import { SavedTurnView } from "./SavedTurnView";
import styles from "./Sessions.module.css";

const HERE = "Session";

interface Props {
  id: string;
  /** Undefined while nothing of it is saved. */
  session: Session | undefined;
  live: Followed & { forget: () => void };
  /** Told when a turn has ended: by then it can be read. */
  onSaved: () => void;
}

export function ConversationView({ id, session, live, onSaved }: Props) {
  const queries = useQueryClient();
  const { tell } = useNotices();
  const change = useChange(id);
  const sending = useSend();
  const runs = useRuns(id);
  const running = useRunning();
  const said = useSaid();
  const box = useRef<HTMLElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const { isAtEnd, toEnd } = useStickToEnd(box, content);
  const tree = session ? treeOf(session) : { turns: [], further: [] };
  const shown = savedBefore(tree.turns, live.from);
  const branch = (at: number, told: string) =>
    change.mutate(
      { at },
      {
        onSuccess: () => {
          live.forget();
          tell({ kind: "good", text: told });
          field.current?.focus();
        },
      },
    );
  const send = (text: string) => {
    toEnd();
    sending.mutate({ text, session: id, model: null });
  };
  const onEnded = useCallback(
    ({ requestId }: Ended) => {
      said.drop(requestId);
      onSaved();
      void queries.invalidateQueries({ queryKey: sessionKey(id) });
    },
    [queries, id, said.drop, onSaved],
  );
  useShortcut({ keys: "m", does: "Write a message", where: HERE }, () => field.current?.focus());
  const canBranch = running.current === null && !change.isPending;
  return (
    <div className={styles.conversation}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard */}
      <section ref={box} className={styles.box} tabIndex={0} aria-label="Conversation">
        <div ref={content} className={styles.turns}>
          {shown.map((turn, at) => (
            <SavedTurnView
              key={turn.end}
              turn={turn}
              run={runOf(turn, runs.data?.data ?? [])}
              isLast={at === shown.length - 1 && live.turns.length === 0}
              onBranch={canBranch ? branch : null}
            />
          ))}
          {live.turns.map((turn) => (
            <LiveTurnView
              key={turn.requestId}
              live={turn}
              exchange={null}
              agent="assistant"
              onAskAgain={send}
              onRunning={running.note}
              onEnded={onEnded}
            />
          ))}
          {said.list.map((each) => (
            <p key={each.key} className={styles.said}>
              Said meanwhile: {visible(each.text)}
            </p>
          ))}
          {live.turns.length > 0 && canBranch && session && (
            <div>
              <Button small kind="quiet" onPress={live.forget}>
                Show it as it is saved, to branch
              </Button>
            </div>
          )}
          {live.turns.length === 0 && (
            <Forks
              forks={tree.further}
              label="Branches that go on from here"
              onChoose={(fork) => branch(fork.end, "This is that branch.")}
              isDisabled={!canBranch}
            />
          )}
          {sending.isPending && <p className={styles.said}>{visible(sending.variables.text)}</p>}
          <Failures sending={sending} change={change} />
        </div>
      </section>
      {!isAtEnd && (
        <div className={styles.jump}>
          <Button small onPress={toEnd}>
            To the end ↓
          </Button>
        </div>
      )}
      <Field
        id={id}
        running={running.current}
        isBusy={sending.isPending}
        onSend={send}
        said={said}
        ref={field}
      />
    </div>
  );
}

/** The saved turns before a place in the branch. */
function savedBefore(turns: ReturnType<typeof treeOf>["turns"], from: number) {
  let place = 0;
  return turns.filter((turn) => {
    const begins = place;
    place += turn.messages.length;
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
          what="The message was not taken"
          error={sending.error}
          onRetry={() => sending.variables && sending.mutate(sending.variables)}
        />
      )}
      {change.error && <ErrorNotice what="It was not changed" error={change.error} />}
    </>
  );
}

interface FieldProps {
  /** The conversation's. */
  id: string;
  /** The request that runs; null: none does. */
  running: string | null;
  isBusy: boolean;
  onSend: (text: string) => void;
  said: ReturnType<typeof useSaid>;
  ref: React.RefObject<HTMLTextAreaElement | null>;
}

/** While a turn runs, what is written reaches it; a message of its own is the other choice. */
function Field({ id, running, isBusy, onSend, said, ref }: FieldProps) {
  const steering = useSteer();
  const steer = (text: string) => {
    if (running === null) return;
    steering.mutate(
      { requestId: running, text },
      { onSuccess: ({ taken }) => (taken ? said.add(running, text) : onSend(text)) },
    );
  };
  const shared = { of: id, ref, isBusy: isBusy || steering.isPending, label: "Message" };
  return (
    <>
      {steering.error && <ErrorNotice what="It did not reach the turn" error={steering.error} />}
      {running === null ? (
        <MessageField {...shared} placeholder="Go on" act="Send" onSend={onSend} />
      ) : (
        <MessageField
          {...shared}
          placeholder="Say something to what runs"
          act="Steer"
          onSend={steer}
          other={{
            act: "Send after it",
            tip: "As a message of its own, when this turn has ended",
            onSend,
          }}
        />
      )}
    </>
  );
}

/** The turns that run, by their requests. */
function useRunning() {
  const [running, setRunning] = useState<readonly string[]>([]);
  const note = useCallback((requestId: string, stop: (() => void) | null) => {
    setRunning((now) => {
      const others = now.filter((each) => each !== requestId);
      if (!stop) return others.length === now.length ? now : others;
      return others.length === now.length ? [...now, requestId] : now;
    });
  }, []);
  // The first one runs; those behind it wait.
  return { note, current: running[0] ?? null };
}

/** What was said to turns while they run. */
function useSaid() {
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
