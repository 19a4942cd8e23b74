// The results of a retrieval: locations in the code, or documents as instrumentations record them.
import type { Span } from "../../../api/schema";
import { CopyButton } from "../../../components/CopyButton";
import { isObject } from "../../../components/messages/chat";
import { count } from "../../../format/numbers";
import { visible } from "../../../text/visible";
import styles from "./Detail.module.css";
import { Part } from "./Part";

export function Sources({ span }: { span: Span }) {
  const found = span.attributes["treadle.retrieval.sources"];
  if (!Array.isArray(found)) return null;
  const sources = found.filter(isObject);
  const left = span.attributes["treadle.retrieval.omitted"];
  const about = typeof left === "number" && left > 0 ? `, ${count(left)} left out` : "";
  return (
    <Part title="Found" about={`${count(sources.length)}${about}`}>
      {sources.length === 0 && <p className={styles.about}>No sources were found.</p>}
      <ol className={styles.sources}>
        {sources.map((source, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies a source
          <Source key={place} source={source} />
        ))}
      </ol>
    </Part>
  );
}

function Source({ source }: { source: Record<string, unknown> }) {
  const file = String(source.file ?? source.path ?? "");
  const first = source.start_line ?? source.first_line;
  const last = source.end_line ?? source.last_line;
  const place = first == null ? file : `${file}:${first}`;
  const range = last == null || last === first ? "" : `–${last}`;
  const name = source.name ?? source.canonical_path;
  return (
    <li className={styles.source}>
      <code>{visible(`${place}${range}`)}</code>
      {typeof name === "string" && <span className={styles.about}>{visible(name)}</span>}
      <CopyButton text={place} label="Copy location" />
    </li>
  );
}
