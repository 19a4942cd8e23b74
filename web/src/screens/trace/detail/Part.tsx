// A titled part of what is told of a span.
import type { ReactNode } from "react";
import styles from "./Detail.module.css";

interface Props {
  title: string;
  about?: ReactNode;
  /** It can be folded, and is at first. */
  folded?: boolean;
  children: ReactNode;
}

export function Part({ title, about, folded = false, children }: Props) {
  if (folded) {
    return (
      <details className={styles.part}>
        <summary>
          {title} {about && <span className={styles.about}>{about}</span>}
        </summary>
        {children}
      </details>
    );
  }
  return (
    <section className={styles.part} aria-label={title}>
      <h3>
        {title} {about && <span className={styles.about}>{about}</span>}
      </h3>
      {children}
    </section>
  );
}
