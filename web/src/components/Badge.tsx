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
};

interface StatusProps {
  status: string;
  /** The time of the last record, which the tooltip of an unfinished run or span needs. */
  lastUs?: number;
  quiet?: boolean;
}

/** The status of a span, run or turn, never by colour alone. */
export function StatusBadge({ status, lastUs, quiet = false }: StatusProps) {
  const { sign, tone } = SIGNS[status] ?? { sign: "?", tone: "plain" as const };
  if (quiet && status === "ok")
    return (
      <span className={styles.quiet} title="ok">
        ✓<span className="visually-hidden">ok</span>
      </span>
    );
  return (
    <Badge tone={tone} {...(lastUs === undefined ? {} : unfinishedTitle(status, lastUs))}>
      <span aria-hidden="true">{sign}</span> {status}
    </Badge>
  );
}

const RUNNING_US = 3_600_000_000;

/**
 * Whether a run or span without an end probably still runs: something was recorded in the last
 * hour. Treadle marks the spans of its own processes that were killed as cancelled, but it cannot
 * know whether another program still runs.
 */
export function isRunning(status: string, lastUs: number, now: number = Date.now()): boolean {
  return status === "unfinished" && now * 1_000 - lastUs < RUNNING_US;
}

function unfinishedTitle(status: string, lastUs: number): { title?: string } {
  if (status !== "unfinished") return {};
  return {
    title: isRunning(status, lastUs)
      ? "No end is recorded yet, so it probably still runs."
      : "No end is recorded, and the last record is more than an hour old. It may still run, or its program may have ended early.",
  };
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
