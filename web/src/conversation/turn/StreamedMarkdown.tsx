// Markdown while it streams: finished blocks are not parsed again with every delta.
import { Markdown } from "../../components/Markdown";
import { blocksOf } from "./blocks";
import styles from "./StreamedMarkdown.module.css";

export function StreamedMarkdown({ text }: { text: string }) {
  return (
    <div className={styles.blocks}>
      {blocksOf(text).map((block, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only added at the end
        <Markdown key={place} text={block} />
      ))}
    </div>
  );
}
