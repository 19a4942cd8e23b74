// The messages of the request, each next to its original.
import { Menu } from "../../../components/Menu";
import { messagesOf } from "../../../components/messages/chat";
import { Messages } from "../../../components/messages/Messages";
import { isObject, type Json, same } from "../request/json";
import { pairs } from "../request/pairing";
import { Beside, type Change, Section } from "./Beside";
import { useProblem } from "./EditContext";
import styles from "./Editor.module.css";
import { MessageEditor, ROLES } from "./MessageEditor";

interface Props {
  before: readonly Json[];
  messages: readonly Json[];
  onChange: (messages: Json[]) => void;
  /** The number of calls in the request. For several, only the instructions can be edited here. */
  calls: number;
}

export function MessagesEditor({ before, messages, onChange, calls }: Props) {
  const problem = useProblem("messages");
  const instructed = hasInstructions(messages);
  const put = (place: number, message: Json) => onChange(messages.with(place, message));
  const move = (from: number, to: number) => {
    const moved = messages[from];
    if (moved === undefined || to < 0 || to >= messages.length) return;
    onChange(messages.toSpliced(from, 1).toSpliced(to, 0, moved));
  };
  return (
    <Section
      title="Messages"
      about={calls > 1 ? "Only the instructions are the same in all calls." : undefined}
      actions={
        calls === 1 ? (
          <Menu
            label="Add a message"
            actions={ROLES.filter((role) => role !== "function").map((role) => ({
              id: role,
              name: role,
              run: () => onChange([...messages, newMessage(role)]),
            }))}
          />
        ) : (
          !instructed && (
            <Menu
              label="Add instructions"
              actions={[
                {
                  id: "system",
                  name: "A system message at the start of every call",
                  run: () => onChange([newMessage("system"), ...messages]),
                },
              ]}
            />
          )
        )
      }
    >
      {problem && (
        <p className={styles.problem} role="alert">
          {problem}
        </p>
      )}
      {pairs(before, messages).map((pair) => {
        const old = pair.before === null ? undefined : before[pair.before];
        const now = pair.after === null ? undefined : messages[pair.after];
        const place = pair.after;
        const name = `message ${(place ?? pair.before ?? 0) + 1}`;
        return (
          <Beside
            key={place === null ? `before ${pair.before}` : place}
            name={name}
            change={changeOf(old, now)}
            texts={textsOf(old, now)}
            left={old === undefined ? <Nothing /> : <Shown message={old} name={name} />}
            right={
              place === null || now === undefined ? (
                <Nothing />
              ) : calls > 1 && !(place === 0 && instructed) ? (
                <Shown message={now} name={name} />
              ) : (
                <MessageEditor
                  message={now}
                  place={place}
                  last={messages.length - 1}
                  onlyText={calls > 1}
                  onChange={(message) => put(place, message)}
                  onRemove={() => onChange(messages.toSpliced(place, 1))}
                  onMove={(by) => move(place, place + by)}
                />
              )
            }
          />
        );
      })}
    </Section>
  );
}

export function changeOf(before: Json | undefined, after: Json | undefined): Change {
  if (before === undefined) return "added";
  if (after === undefined) return "removed";
  return same(before, after) ? "same" : "changed";
}

export function Nothing() {
  return (
    <p className={styles.nothing}>
      <span aria-hidden="true">–</span>
      <span className="visually-hidden">Missing</span>
    </p>
  );
}

function Shown({ message, name }: { message: Json; name: string }) {
  return <Messages messages={messagesOf(message)} label={name} />;
}

function newMessage(role: string): Json {
  return role === "tool" ? { role, tool_call_id: "", content: "" } : { role, content: "" };
}

function hasInstructions(messages: readonly Json[]): boolean {
  const first = messages[0];
  return isObject(first) && (first.role === "system" || first.role === "developer");
}

function textsOf(before: Json | undefined, after: Json | undefined) {
  const one = isObject(before) ? before.content : undefined;
  const other = isObject(after) ? after.content : undefined;
  return typeof one === "string" && typeof other === "string" && one !== other
    ? { before: one, after: other }
    : null;
}
