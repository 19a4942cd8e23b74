// The model and the parameters of the request: the common ones always, others if they are set.
import { useState } from "react";
import { Button } from "../../../components/Button";
import { JsonView } from "../../../components/JsonView";
import { LongText } from "../../../components/LongText";
import { Menu } from "../../../components/Menu";
import { TextField } from "../../../components/TextField";
import { visible } from "../../../text/visible";
import { type Json, type JsonObject, own, withValue } from "../request/json";
import { Beside, Section } from "./Beside";
import { useProblem } from "./EditContext";
import styles from "./Editor.module.css";
import { changeOf, Nothing } from "./MessagesEditor";
import { ParameterField } from "./ParameterField";

const USUAL = ["temperature", "max_tokens", "response_format"];
const KNOWN: Record<string, Json> = {
  temperature: 1,
  top_p: 1,
  max_tokens: 1_000,
  max_completion_tokens: 1_000,
  response_format: { type: "json_object" },
  frequency_penalty: 0,
  presence_penalty: 0,
  seed: 1,
  stop: ["\n\n"],
  reasoning_effort: "medium",
  tool_choice: "auto",
  parallel_tool_calls: true,
  logprobs: true,
  stream: false,
};

interface Props {
  before: JsonObject;
  parameters: JsonObject;
  onChange: (parameters: JsonObject) => void;
}

export function ParametersEditor({ before, parameters, onChange }: Props) {
  const [adding, setAdding] = useState<string | null>(null);
  const problem = useProblem("parameters");
  const names = shownNames(before, parameters);
  const missing = Object.keys(KNOWN).filter((name) => !Object.hasOwn(parameters, name));
  const set = (name: string, value: Json | undefined) =>
    onChange(withValue(parameters, name, value));
  return (
    <Section
      title="Parameters"
      actions={
        <Menu
          label="Add a parameter"
          actions={[
            ...missing.map((name) => ({
              id: name,
              name,
              run: () => set(name, KNOWN[name] ?? null),
            })),
            { id: "", name: "Another parameter…", run: () => setAdding("") },
          ]}
        />
      }
    >
      {problem && <p className={styles.problem}>{problem}</p>}
      {adding !== null && (
        <NewName
          label="Name of the parameter"
          taken={Object.keys(parameters)}
          onCancel={() => setAdding(null)}
          onName={(name) => {
            set(name, "");
            setAdding(null);
          }}
        />
      )}
      {names.map((name) => {
        const old = own(before, name);
        const now = own(parameters, name);
        return (
          <Beside
            key={name}
            name={name}
            change={old === undefined && now === undefined ? "same" : changeOf(old, now)}
            left={<ShownValue name={name} value={old} />}
            right={
              <ParameterField
                name={name}
                value={now}
                initial={old ?? KNOWN[name] ?? ""}
                onChange={(value) => set(name, value)}
              />
            }
          />
        );
      })}
    </Section>
  );
}

/** The common ones first, then those of either side. */
function shownNames(before: JsonObject, parameters: JsonObject): string[] {
  const given = [...Object.keys(before), ...Object.keys(parameters)];
  const newer = given.includes("max_completion_tokens") && !given.includes("max_tokens");
  const usual = USUAL.map((name) =>
    newer && name === "max_tokens" ? "max_completion_tokens" : name,
  );
  return [...new Set([...usual, ...given])];
}

export function ShownValue({ name, value }: { name?: string; value: Json | undefined }) {
  return (
    <div className={styles.shown}>
      {name && <span className={styles.name}>{visible(name)}</span>}
      {value === undefined ? (
        <Nothing />
      ) : typeof value === "object" && value !== null ? (
        <JsonView value={value} />
      ) : (
        <LongText
          text={typeof value === "string" ? value : JSON.stringify(value)}
          mono
          first={2_000}
        />
      )}
    </div>
  );
}

interface NewNameProps {
  label: string;
  taken: readonly string[];
  onName: (name: string) => void;
  onCancel: () => void;
}

/** Asks for a new name. */
export function NewName({ label, taken, onName, onCancel }: NewNameProps) {
  const [name, setName] = useState("");
  const wrong = taken.includes(name.trim()) ? "A parameter with this name exists." : null;
  const add = () => {
    if (name.trim() && !wrong) onName(name.trim());
  };
  return (
    <div className={styles.newName}>
      <TextField
        label={label}
        value={name}
        mono
        autoFocus
        problem={wrong}
        onChange={setName}
        onKeyDown={(event) => {
          if (event.key === "Enter") add();
          if (event.key === "Escape") onCancel();
        }}
      />
      <Button small onPress={add} isDisabled={!name.trim() || wrong !== null}>
        Add
      </Button>
      <Button small kind="quiet" onPress={onCancel}>
        Cancel
      </Button>
    </div>
  );
}
