// One parameter, with a field that suits its value.
import { Button } from "../../../components/Button";
import { Select } from "../../../components/Select";
import { TextField } from "../../../components/TextField";
import { isObject, type Json, withValue } from "../request/json";
import { useProblem } from "./EditContext";
import styles from "./Editor.module.css";
import { JsonField, NumberValueField } from "./JsonField";

const FORMATS = ["text", "json_object", "json_schema"] as const;

interface Props {
  name: string;
  /** Undefined: it is not sent. */
  value: Json | undefined;
  /** The first value when it is set. */
  initial: Json;
  onChange: (value: Json | undefined) => void;
}

export function ParameterField({ name, value, initial, onChange }: Props) {
  if (value === undefined) {
    return (
      <div className={styles.unset}>
        <span className={styles.name}>{name}</span>
        <span className={styles.about}>not sent</span>
        <Button small onPress={() => onChange(initial)} aria-label={`Set ${name}`}>
          Set
        </Button>
      </div>
    );
  }
  return (
    <div className={styles.part}>
      <ValueField name={name} value={value} onChange={onChange} />
      <Button
        small
        kind="quiet"
        aria-label={`Remove ${name}`}
        tip="Do not send"
        onPress={() => onChange(undefined)}
      >
        ✕
      </Button>
    </div>
  );
}

interface ValueProps {
  name: string;
  value: Json;
  onChange: (value: Json | undefined) => void;
}

function ValueField({ name, value, onChange }: ValueProps) {
  const field = `parameters.${name}`;
  const problem = useProblem(field);
  if (name === "response_format" && isObject(value)) {
    return <FormatField value={value} onChange={onChange} />;
  }
  if (typeof value === "number") {
    return <NumberValueField label={name} field={field} value={value} onChange={onChange} />;
  }
  if (typeof value === "boolean") {
    return (
      <Select
        label={name}
        value={value ? "true" : "false"}
        options={[
          { id: "true", name: "true" },
          { id: "false", name: "false" },
        ]}
        onChange={(chosen) => onChange(chosen === "true")}
      />
    );
  }
  if (typeof value === "string") {
    return <TextField label={name} mono value={value} problem={problem} onChange={onChange} />;
  }
  return <JsonField label={name} field={field} value={value} onChange={onChange} />;
}

function FormatField({ value, onChange }: Omit<ValueProps, "name">) {
  const type = isObject(value) && typeof value.type === "string" ? value.type : "";
  const known: string[] = [...FORMATS];
  const types = known.includes(type) ? known : [type, ...known];
  return (
    <div className={styles.call}>
      <Select
        label="response_format"
        value={type}
        options={types.map((each) => ({ id: each, name: each || "no type" }))}
        onChange={(chosen) => onChange(formatOf(chosen, value))}
      />
      {(type === "json_schema" || !known.includes(type)) && (
        <JsonField
          label="As JSON"
          hideLabel
          field="parameters.response_format"
          value={value}
          onChange={onChange}
        />
      )}
    </div>
  );
}

function formatOf(type: string, value: Json): Json {
  if (type !== "json_schema") return { type };
  const schema = isObject(value) && isObject(value.json_schema) ? value.json_schema : null;
  const empty = { name: "answer", strict: true, schema: { type: "object", properties: {} } };
  return withValue({ type }, "json_schema", schema ?? empty);
}
