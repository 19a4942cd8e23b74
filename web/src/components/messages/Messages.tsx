// Recorded messages in order. Of many, the last are shown first, since those are new.
import { useId, useMemo, useState } from "react";
import { count } from "../../format/numbers";
import { Button } from "../Button";
import { keyOf, linked } from "./linking";
import styles from "./Messages.module.css";
import { MessageView } from "./MessageView";
import type { Message } from "./message";

const SHOWN = 30;
const MORE = 200;

interface Props {
  messages: readonly Message[];
  /** The name of the list: "Request", "Conversation". */
  label: string;
}

export function Messages({ messages, label }: Props) {
  const [most, setMost] = useState(SHOWN);
  const base = useId();
  const links = useMemo(() => linked(messages), [messages]);
  const id = useMemo(() => (key: string) => `${base}-${key}`, [base]);
  const answers = useMemo(
    () => messages.map((message, place) => answersOf(message, place, links.answerOf)),
    [messages, links],
  );
  if (messages.length === 0) return <p className={styles.about}>No messages.</p>;
  const left = Math.max(0, messages.length - most);
  return (
    <section className={styles.messages} aria-label={label}>
      {left > 0 && (
        <Button small onPress={() => setMost(most + MORE)}>
          Show {count(Math.min(left, MORE))} earlier messages ({count(left)} left)
        </Button>
      )}
      {messages.slice(left).map((message, at) => {
        const place = left + at;
        const called = links.callOf.get(place);
        return (
          <MessageView
            key={place}
            message={message}
            place={place}
            id={id}
            call={called ? { key: keyOf(called), name: called.call.name } : null}
            answers={answers[place] ?? new Map()}
          />
        );
      })}
    </section>
  );
}

function answersOf(
  message: Message,
  place: number,
  answerOf: ReadonlyMap<string, number>,
): ReadonlyMap<number, number | null> {
  return new Map(
    message.parts.map((_, part) => [part, answerOf.get(keyOf({ message: place, part })) ?? null]),
  );
}
