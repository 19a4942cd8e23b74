// The field for a question, with the context that is sent along and the choice of agent.
import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { client, ok } from "../../api/client";
import { Button } from "../../components/Button";
import { Select } from "../../components/Select";
import { TextField } from "../../components/TextField";
import { useKeptText } from "../../components/useKeptText";
import { visible } from "../../text/visible";
import type { Chip } from "../context";
import styles from "./Composer.module.css";

export const ORCHESTRATOR = "orchestrator";

export interface Choice {
  agent: string;
  /** Model (default from settings). */
  model: string;
}

interface Props {
  chips: readonly Chip[];
  onRemove: (chip: Chip) => void;
  choice: Choice;
  onChoose: (choice: Choice) => void;
  /** A conversation keeps the agent that it started with. */
  isAgentFixed: boolean;
  isBusy: boolean;
  onAsk: (question: string) => void;
}

export function Composer(props: Props) {
  const [kept, setText] = useKeptText("analyst");
  const text = kept ?? "";
  const [choosing, showChoice] = useState(false);
  const choices = useId();
  const ask = () => {
    const question = text.trim();
    if (!question || props.isBusy) return;
    props.onAsk(question);
    setText("");
  };
  return (
    <form
      className={styles.composer}
      onSubmit={(event) => {
        event.preventDefault();
        ask();
      }}
    >
      <Chips chips={props.chips} onRemove={props.onRemove} />
      <div className={styles.writing}>
        <Field text={text} onChange={setText} onEnter={ask} />
        <Button kind="primary" type="submit" isDisabled={!text.trim() || props.isBusy}>
          Ask
        </Button>
      </div>
      <div className={styles.below}>
        <button
          type="button"
          className={styles.toggle}
          aria-expanded={choosing}
          aria-controls={choices}
          onClick={() => showChoice(!choosing)}
        >
          <span aria-hidden="true">{choosing ? "▾" : "▸"}</span> Agent:{" "}
          {visible(props.choice.agent)}
          {props.choice.model && `, ${visible(props.choice.model)}`}
        </button>
        <span className={styles.hint}>Enter to send, Shift+Enter for a new line</span>
      </div>
      <div id={choices}>{choosing && <Choices {...props} />}</div>
    </form>
  );
}

const NAMES: Record<Chip["kind"], string> = {
  thread: "Thread",
  run: "Run",
  trace: "Trace",
  span: "Span",
  label: "Label",
  experiment: "Experiment",
};

function Chips({ chips, onRemove }: Pick<Props, "chips" | "onRemove">) {
  if (chips.length === 0) return null;
  return (
    <ul className={styles.chips} aria-label="Context of the question">
      {chips.map((chip) => (
        <li key={`${chip.kind} ${chip.value}`} className={styles.chip}>
          <span className={styles.kind}>{NAMES[chip.kind]}</span>{" "}
          <span className={styles.value} title={chip.value}>
            {visible(shortened(chip.value))}
          </span>
          <Button
            kind="quiet"
            small
            aria-label={`Exclude ${NAMES[chip.kind]} ${chip.value}`}
            onPress={() => onRemove(chip)}
          >
            ✕
          </Button>
        </li>
      ))}
    </ul>
  );
}

/** The beginning of an id is enough to distinguish two of them. */
function shortened(value: string): string {
  return /^[0-9a-f-]{16,36}$/.test(value) ? `${value.slice(0, 8)}…` : value;
}

interface FieldProps {
  text: string;
  onChange: (text: string) => void;
  onEnter: () => void;
}

function Field({ text, onChange, onEnter }: FieldProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it grows with its text
  useEffect(() => {
    if (!field.current) return;
    field.current.style.height = "auto";
    field.current.style.height = `${field.current.scrollHeight + 2}px`;
  }, [text]);
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    onEnter();
  };
  return (
    <textarea
      ref={field}
      className={styles.field}
      aria-label="Question to the analyst"
      placeholder="Ask about the recorded traces"
      rows={1}
      value={text}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={press}
      data-analyst-field
    />
  );
}

function Choices({ choice, onChoose, isAgentFixed }: Props) {
  const agents = useQuery({
    queryKey: ["agents"],
    queryFn: ({ signal }) => ok(client.GET("/api/v1/agents", { signal })),
    staleTime: 60_000,
  });
  const names = agents.data?.data.map((agent) => agent.name) ?? [choice.agent];
  const about = agents.data?.data.find((agent) => agent.name === choice.agent)?.description;
  return (
    <div className={styles.choices}>
      <Select
        label="Agent"
        value={choice.agent}
        options={names.map((name) => ({ id: name, name }))}
        onChange={(agent) => onChoose({ ...choice, agent })}
        isDisabled={isAgentFixed}
      />
      <TextField
        label="Model"
        value={choice.model}
        onChange={(model) => onChoose({ ...choice, model })}
        placeholder="Model (default from settings)"
      />
      <p className={styles.about}>
        {isAgentFixed
          ? "A conversation keeps the agent that it started with."
          : about && visible(about)}
      </p>
    </div>
  );
}
