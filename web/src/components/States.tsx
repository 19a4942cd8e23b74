// What a list or panel shows without data: loading, empty, or failed.
import type { ReactNode } from "react";
import { ApiError } from "../api/client";
import { Button } from "./Button";
import { Snippet } from "./Snippet";
import styles from "./States.module.css";

/** Placeholder lines, announced to screen readers once. */
export function Loading({ what, lines = 6 }: { what: string; lines?: number }) {
  return (
    <div className={styles.loading} role="status">
      <span className="visually-hidden">Loading {what}…</span>
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all alike
        <div key={line} className={styles.line} aria-hidden="true" />
      ))}
    </div>
  );
}

interface EmptyProps {
  title: string;
  children?: ReactNode;
  /** The one command to copy that creates data. */
  snippet?: string;
  action?: ReactNode;
}

export function EmptyState({ title, children, snippet, action }: EmptyProps) {
  return (
    <div className={styles.empty}>
      <h2>{title}</h2>
      {children && <div className={styles.words}>{children}</div>}
      {snippet && <Snippet text={snippet} />}
      {action}
    </div>
  );
}

interface ErrorProps {
  /** What failed: "The threads could not be read". */
  what: string;
  error: unknown;
  onRetry?: (() => void) | undefined;
}

export function ErrorNotice({ what, error, onRetry }: ErrorProps) {
  const hint = error instanceof ApiError ? error.hint : null;
  const why = error instanceof Error ? error.message : String(error);
  return (
    <div className={styles.error} role="alert">
      <strong>
        <span aria-hidden="true">⚠ </span>
        {what}.
      </strong>
      <p>{why}</p>
      {hint && <p className={styles.hint}>{hint}</p>}
      {onRetry && (
        <Button small onPress={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}
