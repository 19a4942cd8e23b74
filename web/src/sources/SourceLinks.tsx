// The lines of files that the model received before it answered, each as a link.
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { SourceRange } from "../api/schema";
import { Badge } from "../components/Badge";
import { Button } from "../components/Button";
import { counted } from "../format/numbers";
import { visible } from "../text/visible";
import { sourceText } from "./address";
import styles from "./Sources.module.css";

const FIRST = 6;

export function SourceLinks({ sources }: { sources: readonly SourceRange[] }) {
  const [isWhole, showWhole] = useState(false);
  if (sources.length === 0) return null;
  const shown = isWhole ? sources : sources.slice(0, FIRST);
  const left = sources.length - shown.length;
  return (
    <section className={styles.sources} aria-label="Sources">
      <h3 className={styles.title}>{counted(sources.length, "source")}</h3>
      <ul className={styles.list}>
        {shown.map((source) => (
          <SourceLink key={`${sourceText(source)} ${source.name}`} source={source} />
        ))}
      </ul>
      {left > 0 && (
        <Button kind="quiet" small onPress={() => showWhole(true)}>
          Show all sources ({left} more)
        </Button>
      )}
    </section>
  );
}

function SourceLink({ source }: { source: SourceRange }) {
  const text = sourceText(source);
  // Text without a name is named by its lines.
  const name = source.name === text ? "" : source.name;
  return (
    <li>
      <Link
        to="."
        search={(now: object) => ({ ...now, source: text }) as never}
        title={visible(name)}
        className={styles.link ?? ""}
      >
        {visible(text)}
      </Link>
      {source.stale && <Badge tone="warn">changed since</Badge>}
    </li>
  );
}
