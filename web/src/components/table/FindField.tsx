// The field that filters a list by words. Enter, Escape and ↓ lead to the rows.
import { type KeyboardEvent, useRef } from "react";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { TextField } from "../TextField";
import { focusList } from "./rowFocus";

interface Props {
  /** "Find a model". */
  label: string;
  /** The group in the list of shortcuts. */
  where: string;
  value: string;
  onChange: (text: string) => void;
}

const TO_ROWS = ["Enter", "Escape", "ArrowDown"];

export function FindField({ label, where, value, onChange }: Props) {
  const place = useRef<HTMLDivElement>(null);
  useShortcut({ keys: "/", does: label, where }, () =>
    place.current?.querySelector("input")?.focus(),
  );
  const press = (event: KeyboardEvent) => {
    if (!TO_ROWS.includes(event.key) || event.nativeEvent.isComposing) return;
    event.preventDefault();
    focusList();
  };
  return (
    <div ref={place}>
      <TextField
        label={label}
        hideLabel
        type="search"
        placeholder={label}
        value={value}
        onChange={onChange}
        onKeyDown={press}
      />
    </div>
  );
}
