// The frame of a screen: its title, its actions, and its content.
import { type ReactNode, useEffect } from "react";
import styles from "./Screen.module.css";

interface Props {
  title: string;
  /** Next to the title: counts, a status. */
  about?: ReactNode;
  actions?: ReactNode;
  /** The content fills the height and scrolls by itself. */
  fill?: boolean;
  children: ReactNode;
}

export function Screen({ title, about, actions, fill = false, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Treadle`;
  }, [title]);
  return (
    <div className={[styles.screen, fill ? styles.fill : ""].join(" ")}>
      <header className={styles.header}>
        <div className={styles.heading}>
          <h1 title={title}>{title}</h1>
          {about && <div className={styles.about}>{about}</div>}
        </div>
        {actions && <div className={styles.actions}>{actions}</div>}
      </header>
      <div className={styles.content}>{children}</div>
    </div>
  );
}
