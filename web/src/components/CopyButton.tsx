// Copies a text and confirms it.

import { Button } from "./Button";
import { useCopy } from "./useCopy";

interface Props {
  text: string | (() => string | Promise<string>);
  label?: string;
  keys?: string;
}

export function CopyButton({ text, label = "Copy", keys }: Props) {
  const copy = useCopy();
  return (
    <Button small onPress={() => void copy(text)} {...(keys ? { keys } : {})}>
      {label}
    </Button>
  );
}
