// A titled part of a span's detail.
import type { ReactNode } from "react";
import styles from "./Detail.module.css";

interface Props {
  title: string;
  about?: ReactNode;
  /** It can be folded, and is folded at first. */
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
