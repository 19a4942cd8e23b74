// Names with texts: the variables of the messages, and the extra headers.
import { useState } from "react";
import { Button } from "../../../components/Button";
import { TextField } from "../../../components/TextField";
import { isObject, type Json, type JsonObject, own, withValue } from "../request/json";
import { Beside, Section } from "./Beside";
import { useProblem } from "./EditContext";
import styles from "./Editor.module.css";
import { JsonField } from "./JsonField";
import { changeOf, Nothing } from "./MessagesEditor";
import { NewName, ShownValue } from "./ParametersEditor";

interface Props {
  title: "Variables" | "Headers";
  /** The name of this part of the request: "variables". */
  field: string;
  about: string;
  before: Json | undefined;
  values: Json | undefined;
  onChange: (values: JsonObject) => void;
  /** Names that could get a value. */
  wanted?: readonly string[];
}

export function NamesEditor({ title, field, about, before, values, onChange, wanted = [] }: Props) {
  const [adding, add] = useState(false);
  const problem = useProblem(field);
  const old = isObject(before) ? before : {};
  const now = isObject(values) ? values : {};
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  const set = (name: string, value: Json | undefined) => onChange(withValue(now, name, value));
  const one = title === "Variables" ? "variable" : "header";
  const missing = wanted.filter((name) => !Object.hasOwn(now, name));
  return (
    <Section
      title={title}
      about={about}
      actions={
        <Button small onPress={() => add(true)}>
          Add a {one}
        </Button>
      }
    >
      {problem && <p className={styles.problem}>{problem}</p>}
      {missing.length > 0 && (
        <p className={styles.about}>
          Without a value (sent unchanged):{" "}
          {missing.slice(0, 20).map((name) => (
            <Button key={name} small onPress={() => set(name, "")}>
              {`{{${name}}}`}
            </Button>
          ))}
        </p>
      )}
      {adding && (
        <NewName
          label={`Name of the ${one}`}
          taken={Object.keys(now)}
          onCancel={() => add(false)}
          onName={(name) => {
            set(name, "");
            add(false);
          }}
        />
      )}
      {names.map((name) => {
        const one = own(old, name);
        const other = own(now, name);
        return (
          <Beside
            key={name}
            name={name}
            change={changeOf(one, other)}
            left={<ShownValue name={name} value={one} />}
            right={
              other === undefined ? (
                <Nothing />
              ) : (
                <div className={styles.part}>
                  <Value
                    name={name}
                    field={`${field}.${name}`}
                    value={other}
                    onChange={(value) => set(name, value)}
                  />
                  <Button
                    small
                    kind="quiet"
                    aria-label={`Remove ${name}`}
                    onPress={() => set(name, undefined)}
                  >
                    ✕
                  </Button>
                </div>
              )
            }
          />
        );
      })}
    </Section>
  );
}

interface ValueProps {
  name: string;
  field: string;
  value: Json;
  onChange: (value: Json) => void;
}

function Value({ name, field, value, onChange }: ValueProps) {
  const problem = useProblem(field);
  if (typeof value !== "string") {
    return <JsonField label={name} field={field} value={value} onChange={onChange} />;
  }
  const rows = value.includes("\n") || value.length > 80 ? 2 : 1;
  return <TextField label={name} rows={rows} value={value} problem={problem} onChange={onChange} />;
}
