// A conversation with the analyst: its turns, and the field for the next question.
import { useEffect, useState } from "react";
import { Button } from "../../components/Button";
import { EmptyState, ErrorNotice, Loading } from "../../components/States";
import {
  ConversationView,
  useRunningTurns,
  useSpokenAnswer,
} from "../../conversation/ConversationView";
import { LiveTurnView } from "../../conversation/LiveTurnView";
import { SavedTurnView } from "../../conversation/SavedTurnView";
import { savedExchange } from "../../conversation/savedTurn";
import { suggestionsFor } from "../context";
import { NEW } from "../dock";
import styles from "./AnalystConversation.module.css";
import { type Choice, Composer, ORCHESTRATOR } from "./Composer";
import { shownOf, useAnalystConversation, useAsk } from "./useAnalystConversation";
import { useRecordedRuns } from "./useRecordedRuns";
import { useScreenContext } from "./useScreenContext";

interface Props {
  /** The id of the conversation, or NEW. */
  id: string;
  onBegun: (conversation: string) => void;
}

export function AnalystConversation({ id, onBegun }: Props) {
  const { saved, live, isGone, query } = useAnalystConversation(id);
  const screen = useScreenContext();
  const [choice, choose] = useState<Choice>({ agent: ORCHESTRATOR, model: "" });
  const asking = useAsk(id, onBegun);
  const { reset } = asking;
  // biome-ignore lint/correctness/useExhaustiveDependencies: an error belongs to one conversation
  useEffect(reset, [id, reset]);
  const agent = saved?.agent ?? choice.agent;
  const ask = (question: string) => {
    const model = choice.model.trim() || null;
    asking.mutate({ question, agent, model, context: screen.context });
  };
  const shown = shownOf(saved, live);
  const runs = useRecordedRuns(saved);
  const running = useRunningTurns();
  const { spoken, note } = useSpokenAnswer();
  const isEmpty = shown.length === 0 && !asking.isPending && !asking.error;
  return (
    <ConversationView
      pending={asking.isPending ? asking.variables.question : null}
      where="Analyst"
      stop={running.stop}
      spoken={spoken}
      field={
        <Composer
          chips={screen.chips}
          onRemove={screen.remove}
          choice={{ ...choice, agent }}
          onChoose={choose}
          isAgentFixed={id !== NEW}
          isBusy={asking.isPending}
          onAsk={ask}
        />
      }
    >
      {query.isLoading && <Loading what="the conversation" />}
      {isGone && live.length === 0 && <Gone />}
      {query.error && !isGone && (
        <ErrorNotice
          what="The conversation could not be read"
          error={query.error}
          onRetry={() => void query.refetch()}
        />
      )}
      {isEmpty && !query.isLoading && !query.error && !isGone && (
        <Suggestions questions={suggestionsFor(screen.chips)} onAsk={ask} />
      )}
      {shown.map(({ turn, exchange }) =>
        turn !== null ? (
          <LiveTurnView
            key={turn.requestId}
            live={turn}
            saved={exchange && savedExchange(exchange, agent, null).turn}
            onAskAgain={ask}
            onRunning={running.note}
            onEnded={note}
          />
        ) : (
          <SavedTurnView
            key={exchange.request_id ?? exchange.at_us}
            saved={savedExchange(exchange, agent, runs.get(exchange.trace_id ?? "") ?? null)}
            onAskAgain={ask}
          />
        ),
      )}
      {asking.error && (
        <ErrorNotice
          what="The question was not accepted"
          error={asking.error}
          onRetry={() => asking.variables && asking.mutate(asking.variables)}
        />
      )}
    </ConversationView>
  );
}

function Gone() {
  return (
    <EmptyState title="Conversation not found">
      It was deleted. Start a new conversation, or choose another one.
    </EmptyState>
  );
}

function Suggestions({
  questions,
  onAsk,
}: {
  questions: readonly string[];
  onAsk: (question: string) => void;
}) {
  return (
    <EmptyState title="Ask what happened, and why.">
      <p>Answers link to the spans that support them. Examples:</p>
      <ul className={styles.suggestions}>
        {questions.map((question) => (
          <li key={question}>
            <Button onPress={() => onAsk(question)}>{question}</Button>
          </li>
        ))}
      </ul>
    </EmptyState>
  );
}

/** Focuses the field of the question when the panel opens. */
export function useFocusOnField(): void {
  useEffect(() => {
    document.querySelector<HTMLTextAreaElement>("[data-analyst-field]")?.focus();
  }, []);
}
