// Copies a text and confirms it, or reports why it failed.
import { useNotices } from "./Notices";

/** The text may first have to be computed or read. */
export function useCopy(): (text: string | (() => string | Promise<string>)) => Promise<void> {
  const { tell } = useNotices();
  return async (text) => {
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
}
