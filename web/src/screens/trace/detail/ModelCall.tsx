// A model call: its request and its reply.
import { useRef } from "react";
import type { Span, SpanContent } from "../../../api/schema";
import { Button } from "../../../components/Button";
import { JsonView } from "../../../components/JsonView";
import { LongText } from "../../../components/LongText";
import { isObject, messagesInText, parsed } from "../../../components/messages/chat";
import { Messages } from "../../../components/messages/Messages";
import { count } from "../../../format/numbers";
import { visible } from "../../../text/visible";
import styles from "./Detail.module.css";
import { Side } from "./Formatted";
import { Part } from "./Part";
import { attribute } from "./useSpan";
import { Whole } from "./Whole";

export function ModelCall({ content }: { content: SpanContent }) {
  const reply = useRef<HTMLDivElement>(null);
  const toReply = () => {
    reply.current?.scrollIntoView({ block: "start" });
    reply.current?.focus({ preventScroll: true });
  };
  return (
    <>
      <Parameters span={content.span} />
      <Tools content={content} />
      <Side
        content={content}
        side="input"
        title="Request"
        about={
          content.span.output !== null && (
            <Button kind="quiet" small onPress={toReply}>
              Go to the reply ↓
            </Button>
          )
        }
      >
        {(text) => <Messages messages={messagesInText(text, "user")} label="Request" />}
      </Side>
      <div ref={reply} tabIndex={-1}>
        <Side content={content} side="output" title="Reply">
          {(text) => <Messages messages={messagesInText(text, "assistant")} label="Reply" />}
        </Side>
      </div>
    </>
  );
}

const NO_PARAMETER = new Set(["gen_ai.request.model"]);

function Parameters({ span }: { span: Span }) {
  const given = Object.entries(span.attributes)
    .filter(([name]) => /^(gen_ai|treadle|openai)\.request\./.test(name) && !NO_PARAMETER.has(name))
    .map(
      ([name, value]) => [name.replace(/^(gen_ai|treadle|openai)\.request\./, ""), value] as const,
    );
  const invocation = attribute(span, "llm.invocation_parameters");
  const others = typeof invocation === "string" ? parsed(invocation) : undefined;
  if (isObject(others)) given.push(...Object.entries(others).filter(([name]) => name !== "model"));
  if (given.length === 0) return null;
  return (
    <Part title="Parameters">
      <dl className={styles.facts}>
        {given.map(([name, value]) => (
          <div key={name}>
            <dt>{visible(name)}</dt>
            <dd>
              <LongText
                text={typeof value === "string" ? value : JSON.stringify(value)}
                first={300}
              />
            </dd>
          </div>
        ))}
      </dl>
    </Part>
  );
}

function Tools({ content }: { content: SpanContent }) {
  const name = ["gen_ai.tool.definitions", "llm.tools"].find(
    (each) => each in content.span.attributes,
  );
  const offered = attribute(content.span, "treadle.tools_offered");
  if (name === undefined) {
    return typeof offered === "number" && offered > 0 ? (
      <p className={styles.about}>
        {count(offered)} tools were available. Their definitions were not recorded.
      </p>
    ) : null;
  }
  const value = content.span.attributes[name];
  if (typeof value !== "string") return <ToolList value={value} />;
  return (
    <Whole content={content} path={["attributes", name]}>
      {({ text }) => <ToolList value={parsed(text) ?? text} />}
    </Whole>
  );
}

function ToolList({ value }: { value: unknown }) {
  const tools = Array.isArray(value) ? value : [value];
  return (
    <Part title="Available tools" about={count(tools.length)} folded>
      {tools.map((tool, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies a tool
        <Tool key={place} tool={tool} />
      ))}
    </Part>
  );
}

function Tool({ tool }: { tool: unknown }) {
  const named = isObject(tool) && isObject(tool.function) ? tool.function : tool;
  const name = isObject(named) && typeof named.name === "string" ? named.name : "tool";
  const words = isObject(named) && typeof named.description === "string" ? named.description : "";
  return (
    <details className={styles.tool}>
      <summary>
        <code>{visible(name.slice(0, 200))}</code>{" "}
        <span className={styles.about}>{visible(words.slice(0, 160))}</span>
      </summary>
      <JsonView value={tool} openDepth={4} />
    </details>
  );
}
