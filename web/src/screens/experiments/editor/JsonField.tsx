// A value as text: taken over as soon as the text can be read, and kept as it is typed.
import { useEffect, useState } from "react";
import { TextField } from "../../../components/TextField";
import { type Json, same } from "../request/json";
import { useEdit, useProblem } from "./EditContext";

interface Props {
  label: string;
  hideLabel?: boolean;
  /** As the server names it. */
  field: string;
  value: Json;
  onChange: (value: Json) => void;
}

type Read = { value: Json } | { why: string };

/** Any JSON value. */
export function JsonField(props: Props) {
  return <ReadField {...props} read={readJson} rows={2} />;
}

/** A number; whether it is one that can be sent is the server's to say. */
export function NumberValueField(props: Props) {
  return <ReadField {...props} read={readNumber} rows={1} />;
}

interface ReadProps extends Props {
  read: (text: string) => Read;
  rows: number;
}

function ReadField(props: ReadProps) {
  const { label, hideLabel = false, field, value, onChange, read, rows } = props;
  const [typed, setTyped] = useState<string | null>(null);
  const { report } = useEdit();
  const problem = useProblem(field);
  const now = typed === null ? null : read(typed);
  // What is typed stands as long as it means the value; a value from elsewhere takes its place.
  const stands = now !== null && ("why" in now || same(now.value, value));
  const why = now !== null && "why" in now ? now.why : null;
  useEffect(() => {
    if (why === null) return;
    report(field, why);
    return () => report(field, null);
  }, [report, field, why]);
  return (
    <TextField
      label={label}
      hideLabel={hideLabel}
      value={typed !== null && stands ? typed : JSON.stringify(value, null, 2)}
      rows={rows}
      mono
      problem={why ?? problem}
      onChange={(text) => {
        setTyped(text);
        const found = read(text);
        if ("value" in found) onChange(found.value);
      }}
    />
  );
}

function readJson(text: string): Read {
  try {
    return { value: JSON.parse(text) as Json };
  } catch (error) {
    return { why: `This is no JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function readNumber(text: string): Read {
  const value = Number(text);
  const isOne = text.trim() !== "" && Number.isFinite(value);
  return isOne ? { value } : { why: "This is not a number." };
}
