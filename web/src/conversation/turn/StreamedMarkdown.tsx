// Markdown while it streams: what is settled is not read again with every piece that comes.
import { Markdown } from "../../components/Markdown";
import { blocksOf } from "./blocks";
import styles from "./StreamedMarkdown.module.css";

export function StreamedMarkdown({ text }: { text: string }) {
  return (
    <div className={styles.blocks}>
      {blocksOf(text).map((block, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks only come at the end
        <Markdown key={place} text={block} />
      ))}
    </div>
  );
}
