// A part of a screen with a heading, and facts as pairs of name and value.
import { Fragment, type ReactNode } from "react";
import styles from "./Section.module.css";

interface Props {
  title: string;
  about?: ReactNode;
  actions?: ReactNode;
  /** The content has its own padding, such as a table. */
  flush?: boolean;
  children: ReactNode;
}

export function Section({ title, about, actions, flush = false, children }: Props) {
  return (
    <section className={styles.section} aria-label={title}>
      <header className={styles.header}>
        <h2>{title}</h2>
        {about && <div className={styles.about}>{about}</div>}
        {actions && <div className={styles.actions}>{actions}</div>}
      </header>
      <div className={flush ? styles.flush : styles.content}>{children}</div>
    </section>
  );
}

export type Fact = readonly [name: string, value: ReactNode];

/** Facts without a value are left out. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  const known = facts.filter(([, value]) => value !== "" && value != null && value !== false);
  return (
    <dl className={styles.facts}>
      {known.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
