// A JSON value as text: taken over as soon as the text is JSON, and kept as it is typed.
import { useEffect, useState } from "react";
import { TextField } from "../../../components/TextField";
import { type Json, same } from "../request/json";
import { useEdit, useProblem } from "./EditContext";

interface Props {
  label: string;
  hideLabel?: boolean;
  field: string;
  value: Json;
  onChange: (value: Json) => void;
  hint?: string;
}

export function JsonField({ label, hideLabel = false, field, value, onChange, hint }: Props) {
  const [typed, setTyped] = useState<string | null>(null);
  const { report } = useEdit();
  const problem = useProblem(field);
  const read = typed === null ? undefined : readJson(typed);
  // What is typed stands as long as it means the value; a value from elsewhere takes its place.
  const stands = read !== undefined && ("why" in read || same(read.value, value));
  const text = typed !== null && stands ? typed : JSON.stringify(value, null, 2);
  const why = stands && read && "why" in read ? read.why : null;
  useEffect(() => {
    if (why === null) return;
    report(field, why);
    return () => report(field, null);
  }, [report, field, why]);
  return (
    <TextField
      label={label}
      hideLabel={hideLabel}
      value={text}
      rows={2}
      mono
      problem={why ?? problem}
      {...(hint ? { hint } : {})}
      onChange={(changed) => {
        setTyped(changed);
        const now = readJson(changed);
        if ("value" in now) onChange(now.value);
      }}
    />
  );
}

function readJson(text: string): { value: Json } | { why: string } {
  try {
    return { value: JSON.parse(text) as Json };
  } catch (error) {
    return { why: `This is no JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}
