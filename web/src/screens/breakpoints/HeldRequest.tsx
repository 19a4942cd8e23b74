// The request of a held call, as messages and other fields; as text if it is not a request.
import { useMemo } from "react";
import { Code } from "../../components/Code";
import { JsonView } from "../../components/JsonView";
import { isObject, messagesOf, parsed } from "../../components/messages/chat";
import { Messages } from "../../components/messages/Messages";
import styles from "./Breakpoints.module.css";

export function HeldRequest({ text }: { text: string }) {
  const request = useMemo(() => {
    const value = parsed(text);
    return isObject(value) ? partsOf(value) : null;
  }, [text]);
  if (request === null) {
    return (
      <div className={styles.request}>
        <p className={styles.quiet}>This is not a JSON object, so it is shown as text only.</p>
        <Code text={text} label="Request" />
      </div>
    );
  }
  return (
    <div className={styles.request}>
      <Messages messages={request.messages} label="Request" />
      <JsonView value={request.rest} openDepth={1} />
    </div>
  );
}

/** The messages in the order in which a model reads them, and the other fields. */
function partsOf(request: Readonly<Record<string, unknown>>) {
  const { instructions, messages, input } = request;
  const told = new Set<string>();
  const said: unknown[] = [];
  if (typeof instructions === "string") {
    told.add("instructions");
    said.push({ role: "system", content: instructions });
  }
  if (Array.isArray(messages)) told.add("messages");
  if (Array.isArray(input)) told.add("input");
  if (typeof input === "string") {
    told.add("input");
    said.push({ role: "user", content: input });
  }
  return {
    messages: messagesOf(
      said.concat(Array.isArray(messages) ? messages : [], Array.isArray(input) ? input : []),
    ),
    rest: Object.fromEntries(Object.entries(request).filter(([name]) => !told.has(name))),
  };
}
