// A few lines to copy.
import { CopyButton } from "./CopyButton";
import styles from "./Snippet.module.css";

export function Snippet({ text, label = "Copy" }: { text: string; label?: string }) {
  return (
    <div className={styles.snippet}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard */}
      <pre tabIndex={0}>{text}</pre>
      <CopyButton text={text} label={label} />
    </div>
  );
}
