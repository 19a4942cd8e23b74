// A number as text; null where the field is empty or holds none.
import { useState } from "react";
import { TextField } from "./TextField";

interface Props {
  label: string;
  value: number | null;
  onChange: (value: number | null) => void;
  least?: number;
  most?: number;
  whole?: boolean;
  hint?: string;
  problem?: string | null | undefined;
  placeholder?: string;
  isDisabled?: boolean;
}

export function NumberField({ value, onChange, least, most, whole = false, ...rest }: Props) {
  const [typed, setTyped] = useState<string | null>(null);
  // What is being typed stands as long as it means the value that is given.
  const shown = typed !== null && meant(typed) === value ? typed : (value?.toString() ?? "");
  const wrong = problemOf(typed ?? shown, least, most, whole);
  return (
    <TextField
      {...rest}
      value={typed !== null && wrong ? typed : shown}
      problem={rest.problem ?? wrong}
      onChange={(text) => {
        setTyped(text);
        if (!problemOf(text, least, most, whole)) onChange(meant(text));
      }}
    />
  );
}

function meant(text: string): number | null {
  const value = Number(text);
  return text.trim() === "" || Number.isNaN(value) ? null : value;
}

function problemOf(
  text: string,
  least: number | undefined,
  most: number | undefined,
  whole: boolean,
): string | null {
  if (text.trim() === "") return null;
  const value = Number(text);
  if (!Number.isFinite(value)) return "This is not a number.";
  if (whole && !Number.isInteger(value)) return "Give a whole number.";
  if (least !== undefined && value < least) return `Give at least ${least}.`;
  if (most !== undefined && value > most) return `Give at most ${most}.`;
  return null;
}
