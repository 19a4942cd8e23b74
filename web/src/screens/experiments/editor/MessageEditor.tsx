// One message as a form: role, text and calls. Other fields stay unchanged.
import { Button } from "../../../components/Button";
import { Select } from "../../../components/Select";
import { TextField } from "../../../components/TextField";
import { isObject, type Json, type JsonObject, withValue } from "../request/json";
import { useProblem } from "./EditContext";
import styles from "./Editor.module.css";
import { JsonField } from "./JsonField";

export const ROLES = ["system", "developer", "user", "assistant", "tool", "function"] as const;
const OWN_FIELDS = new Set(["role", "content", "tool_calls", "tool_call_id"]);

interface Props {
  message: Json;
  place: number;
  last: number;
  /** The instructions of several calls: only their text is shared. */
  onlyText: boolean;
  onChange: (message: Json) => void;
  onRemove: () => void;
  onMove: (by: number) => void;
}

export function MessageEditor(props: Props) {
  const { message, place, last, onlyText, onChange, onRemove, onMove } = props;
  const field = `messages[${place}]`;
  const number = place + 1;
  const problem = useProblem(field);
  const roleProblem = useProblem(`${field}.role`);
  if (!isObject(message)) {
    return (
      <JsonField label={`Message ${number}`} field={field} value={message} onChange={onChange} />
    );
  }
  const set = (name: string, value: Json | undefined) => onChange(withValue(message, name, value));
  const role = typeof message.role === "string" ? message.role : "";
  const known: string[] = [...ROLES];
  const roles = known.includes(role) ? known : [role, ...known];
  return (
    <article className={styles.message} aria-label={`Message ${number}`}>
      <header className={styles.messageHead}>
        {onlyText ? (
          <strong>{role}</strong>
        ) : (
          <Select
            label={`Role of message ${number}`}
            hideLabel
            value={role}
            options={roles.map((each) => ({ id: each, name: each || "no role" }))}
            onChange={(chosen) => set("role", chosen)}
          />
        )}
        {!onlyText && (
          <span className={styles.actions}>
            <Button
              small
              kind="quiet"
              aria-label={`Move message ${number} up`}
              isDisabled={place === 0}
              onPress={() => onMove(-1)}
            >
              ↑
            </Button>
            <Button
              small
              kind="quiet"
              aria-label={`Move message ${number} down`}
              isDisabled={place === last}
              onPress={() => onMove(1)}
            >
              ↓
            </Button>
            <Button small kind="quiet" aria-label={`Remove message ${number}`} onPress={onRemove}>
              ✕
            </Button>
          </span>
        )}
      </header>
      {(roleProblem ?? problem) && <p className={styles.problem}>{roleProblem ?? problem}</p>}
      {(role === "tool" || message.tool_call_id !== undefined) && (
        <AnsweredCall field={field} message={message} set={set} />
      )}
      <Content field={field} number={number} message={message} set={set} />
      {Array.isArray(message.tool_calls) && (
        <Calls
          field={`${field}.tool_calls`}
          calls={message.tool_calls}
          onChange={(calls) => set("tool_calls", calls.length ? calls : undefined)}
        />
      )}
      <OtherFields field={field} number={number} message={message} onChange={onChange} />
    </article>
  );
}

type Set = (name: string, value: Json | undefined) => void;

function AnsweredCall({ field, message, set }: { field: string; message: JsonObject; set: Set }) {
  const problem = useProblem(`${field}.tool_call_id`);
  const value = message.tool_call_id;
  return (
    <TextField
      label="Tool call id"
      mono
      value={typeof value === "string" ? value : ""}
      problem={problem}
      onChange={(text) => set("tool_call_id", text)}
    />
  );
}

interface ContentProps {
  field: string;
  number: number;
  message: JsonObject;
  set: Set;
}

function Content({ field, number, message, set }: ContentProps) {
  const problem = useProblem(`${field}.content`);
  const { content } = message;
  if (content === null || content === undefined) {
    return (
      <p className={styles.about}>
        No text{" "}
        <Button small onPress={() => set("content", "")}>
          Add a text
        </Button>
      </p>
    );
  }
  if (typeof content === "string") {
    return (
      <TextField
        label={`Text of message ${number}`}
        hideLabel
        rows={2}
        value={content}
        problem={problem}
        onChange={(text) => set("content", text)}
      />
    );
  }
  if (!Array.isArray(content)) {
    return (
      <JsonField
        label={`Content of message ${number}`}
        field={`${field}.content`}
        value={content}
        onChange={(value) => set("content", value)}
      />
    );
  }
  return (
    <>
      {content.map((part, place) => (
        <PartEditor
          // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies a part
          key={place}
          part={part}
          name={`Part ${place + 1} of message ${number}`}
          field={`${field}.content[${place}]`}
          onChange={(value) => set("content", content.with(place, value))}
          onRemove={() => set("content", content.toSpliced(place, 1))}
        />
      ))}
    </>
  );
}

interface PartProps {
  part: Json;
  name: string;
  field: string;
  onChange: (part: Json) => void;
  onRemove: () => void;
}

function PartEditor({ part, name, field, onChange, onRemove }: PartProps) {
  const isText = isObject(part) && part.type === "text" && typeof part.text === "string";
  return (
    <div className={styles.part}>
      {isText ? (
        <TextField
          label={name}
          rows={2}
          value={String(part.text)}
          onChange={(text) => onChange(withValue(part, "text", text))}
        />
      ) : (
        <JsonField label={name} field={field} value={part} onChange={onChange} />
      )}
      <Button small kind="quiet" aria-label={`Remove ${name.toLowerCase()}`} onPress={onRemove}>
        ✕
      </Button>
    </div>
  );
}

interface CallsProps {
  field: string;
  calls: readonly Json[];
  onChange: (calls: Json[]) => void;
}

function Calls({ field, calls, onChange }: CallsProps) {
  return (
    <>
      {calls.map((call, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies a call
        <div key={place} className={styles.part}>
          <CallEditor
            call={call}
            field={`${field}[${place}]`}
            onChange={(value) => onChange(calls.with(place, value))}
          />
          <Button
            small
            kind="quiet"
            aria-label={`Remove call ${place + 1}`}
            onPress={() => onChange(calls.toSpliced(place, 1))}
          >
            ✕
          </Button>
        </div>
      ))}
    </>
  );
}

interface CallProps {
  call: Json;
  field: string;
  onChange: (call: Json) => void;
}

function CallEditor({ call, field, onChange }: CallProps) {
  const nameProblem = useProblem(`${field}.function.name`);
  const argumentsProblem = useProblem(`${field}.function.arguments`);
  const called = isObject(call) ? call.function : undefined;
  if (!isObject(call) || !isObject(called) || typeof called.arguments !== "string") {
    return <JsonField label="Call" field={field} value={call} onChange={onChange} />;
  }
  const set = (name: string, value: string) =>
    onChange(withValue(call, "function", withValue(called, name, value)));
  return (
    <div className={styles.call}>
      <TextField
        label="Tool"
        mono
        value={typeof called.name === "string" ? called.name : ""}
        problem={nameProblem}
        onChange={(text) => set("name", text)}
      />
      <TextField
        label="Arguments"
        mono
        rows={2}
        value={called.arguments}
        problem={argumentsProblem}
        onChange={(text) => set("arguments", text)}
      />
    </div>
  );
}

interface OtherProps {
  field: string;
  number: number;
  message: JsonObject;
  onChange: (message: Json) => void;
}

function OtherFields({ field, number, message, onChange }: OtherProps) {
  const names = Object.keys(message).filter((name) => !OWN_FIELDS.has(name));
  if (names.length === 0) return null;
  const others = Object.fromEntries(names.map((name) => [name, message[name] ?? null]));
  const kept = Object.entries(message).filter(([name]) => OWN_FIELDS.has(name));
  return (
    <JsonField
      label={`Other fields of message ${number}`}
      field={`${field}.others`}
      value={others}
      onChange={(value) => {
        if (isObject(value)) onChange({ ...Object.fromEntries(kept), ...value });
      }}
    />
  );
}
