// A value as text. Valid text becomes the value at once, and stays as typed.
import { useEffect, useState } from "react";
import { TextField } from "../../../components/TextField";
import { type Json, same } from "../request/json";
import { useEdit, useProblem } from "./EditContext";

interface Props {
  label: string;
  hideLabel?: boolean;
  /** The server's name of the field. */
  field: string;
  value: Json;
  onChange: (value: Json) => void;
}

type Read = { value: Json } | { why: string };

/** Any JSON value. */
export function JsonField(props: Props) {
  return <ReadField {...props} read={readJson} rows={2} />;
}

/** A number. The server decides whether it can be sent. */
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
  // The typed text stays while it means the value. A value from elsewhere replaces it.
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
    return { why: `This is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function readNumber(text: string): Read {
  const value = Number(text);
  const isOne = text.trim() !== "" && Number.isFinite(value);
  return isOne ? { value } : { why: "This is not a number." };
}
