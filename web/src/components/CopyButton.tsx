// Copies a text and says that it did.

import { Button } from "./Button";
import { useNotices } from "./Notices";

interface Props {
  text: string | (() => string | Promise<string>);
  label?: string;
  keys?: string;
}

export function CopyButton({ text, label = "Copy", keys }: Props) {
  const { tell } = useNotices();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : await text());
      tell({ kind: "good", text: "Copied." });
    } catch {
      tell({
        kind: "bad",
        text: "The browser does not let this page copy. Select the text instead.",
      });
    }
  };
  return (
    <Button small onPress={copy} {...(keys ? { keys } : {})}>
      {label}
    </Button>
  );
}
