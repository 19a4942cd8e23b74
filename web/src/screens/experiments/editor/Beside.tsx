// Rows of the request: the compared version on the left, the edited one on the right.
import { type ReactNode, useState } from "react";
import { Badge } from "../../../components/Badge";
import { Button } from "../../../components/Button";
import { TextDiff } from "../../../components/TextDiff";
import styles from "./Editor.module.css";

export type Change = "same" | "changed" | "added" | "removed";

interface Props {
  left: ReactNode;
  right: ReactNode;
  change: Change;
  /** Two texts whose difference can be shown below. */
  texts?: { before: string; after: string } | null;
  name: string;
}

const MARKS: Record<Exclude<Change, "same">, { sign: string; tone: "accent" | "good" | "bad" }> = {
  changed: { sign: "≠", tone: "accent" },
  added: { sign: "+", tone: "good" },
  removed: { sign: "−", tone: "bad" },
};

export function Beside({ left, right, change, texts, name }: Props) {
  const [differing, showDifference] = useState(false);
  const mark = change === "same" ? null : MARKS[change];
  return (
    <div className={styles.row} data-change={change}>
      <div className={`${styles.left} side-before`}>{left}</div>
      <div className={`${styles.right} side-after`}>
        {right}
        {mark && (
          <div className={styles.marks}>
            <Badge tone={mark.tone}>
              <span aria-hidden="true">{mark.sign}</span> {change}
            </Badge>
            {texts && change === "changed" && (
              <Button
                kind="quiet"
                small
                aria-expanded={differing}
                aria-label={`${differing ? "Hide" : "Show"} differences of ${name}`}
                onPress={() => showDifference(!differing)}
              >
                {differing ? "Hide differences" : "Show differences"}
              </Button>
            )}
          </div>
        )}
        {differing && texts && change === "changed" && (
          <div className={styles.difference}>
            <TextDiff before={texts.before} after={texts.after} />
          </div>
        )}
      </div>
    </div>
  );
}

export function Section({
  title,
  about,
  actions,
  children,
}: {
  title: string;
  about?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className={styles.section} aria-label={title}>
      <header className={styles.heading}>
        <h2>{title}</h2>
        {about && <span className={styles.about}>{about}</span>}
        {actions && <span className={styles.actions}>{actions}</span>}
      </header>
      {children}
    </section>
  );
}
