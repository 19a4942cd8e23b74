// A number as text; null if the field is empty or invalid.
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
  // The typed text stays as long as it means the given value.
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
  if (whole && !Number.isInteger(value)) return "Enter a whole number.";
  if (least !== undefined && value < least) return `Enter at least ${least}.`;
  if (most !== undefined && value > most) return `Enter at most ${most}.`;
  return null;
}
