// Small marks: a status with its symbol, a kind of span with its letter, a label.
import type { ReactNode } from "react";
import styles from "./Badge.module.css";

export type Tone = "plain" | "good" | "bad" | "warn" | "accent";

export function Badge({
  tone = "plain",
  children,
  title,
}: {
  tone?: Tone;
  children: ReactNode;
  title?: string;
}) {
  return (
    <span className={[styles.badge, styles[tone]].join(" ")} title={title}>
      {children}
    </span>
  );
}

const SIGNS: Record<string, { sign: string; tone: Tone }> = {
  ok: { sign: "✓", tone: "good" },
  error: { sign: "✕", tone: "bad" },
  cancelled: { sign: "⊘", tone: "warn" },
  denied: { sign: "⊖", tone: "warn" },
  unfinished: { sign: "…", tone: "accent" },
  running: { sign: "…", tone: "accent" },
};

/** The status of a span, run or turn, never by colour alone. */
export function StatusBadge({ status, quiet = false }: { status: string; quiet?: boolean }) {
  const { sign, tone } = SIGNS[status] ?? { sign: "?", tone: "plain" as const };
  if (quiet && status === "ok")
    return (
      <span className={styles.quiet} title="ok">
        ✓<span className="visually-hidden">ok</span>
      </span>
    );
  return (
    <Badge tone={tone}>
      <span aria-hidden="true">{sign}</span> {status}
    </Badge>
  );
}

const RUNNING_US = 300_000_000;

/** The status of a run: without an end, it is running if something happened in the last minutes. */
export function runStatus(status: string, lastUs: number, now: number = Date.now()): string {
  const isRecent = now * 1_000 - lastUs < RUNNING_US;
  return status === "unfinished" && isRecent ? "running" : status;
}

const LETTERS: Record<string, string> = {
  run: "R",
  model: "M",
  tool: "T",
  retrieval: "S",
  embedding: "E",
  agent: "A",
  approval: "P",
  other: "O",
};

export function letterOf(kind: string): string {
  return LETTERS[kind] ?? "O";
}

/** The kind of a span as a coloured letter, with its name for screen readers. */
export function KindMark({ kind }: { kind: string }) {
  return (
    <span className={styles.kind} data-kind={kind} title={kind}>
      <span aria-hidden="true">{letterOf(kind)}</span>
      <span className="visually-hidden">{kind}</span>
    </span>
  );
}
