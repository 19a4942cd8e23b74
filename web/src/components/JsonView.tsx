// A JSON value as a tree with collapsible branches. Large branches are shown in parts.
import { useState } from "react";
import { count } from "../format/numbers";
import { cut, visible } from "../text/visible";
import { Button } from "./Button";
import styles from "./JsonView.module.css";

const OPEN_DEPTH = 2;
const FIRST_ENTRIES = 100;
const FIRST_CHARACTERS = 2_000;

interface Props {
  value: unknown;
  /** Branches above this depth are open at first. */
  openDepth?: number;
}

export function JsonView({ value, openDepth = OPEN_DEPTH }: Props) {
  return (
    <div className={styles.json}>
      <Value value={value} depth={0} openDepth={openDepth} />
    </div>
  );
}

interface ValueProps {
  name?: string;
  value: unknown;
  depth: number;
  openDepth: number;
}

function Value(props: ValueProps) {
  if (typeof props.value === "object" && props.value !== null) return <Branch {...props} />;
  return (
    <div className={styles.line}>
      <Name name={props.name} />
      <Leaf value={props.value} />
    </div>
  );
}

function Branch({ name, value, depth, openDepth }: ValueProps) {
  const isList = Array.isArray(value);
  const entries = Object.entries(value as object);
  const [isOpen, open] = useState(depth < openDepth);
  const [most, setMost] = useState(FIRST_ENTRIES);
  const marks = isList ? "[]" : "{}";
  if (entries.length === 0) {
    return (
      <div className={styles.line}>
        <Name name={name} />
        {marks}
      </div>
    );
  }
  return (
    <div>
      <button
        type="button"
        className={styles.toggle}
        aria-expanded={isOpen}
        onClick={() => open(!isOpen)}
      >
        <span aria-hidden="true" className={styles.arrow}>
          {isOpen ? "▾" : "▸"}
        </span>
        <Name name={name} />
        <span className={styles.about}>
          {marks[0]}
          {isOpen ? "" : "…"}
          {isOpen ? "" : marks[1]} {entries.length}
        </span>
      </button>
      {isOpen && (
        <div className={styles.inside}>
          {entries.slice(0, most).map(([key, each]) => (
            <Value key={key} name={key} value={each} depth={depth + 1} openDepth={openDepth} />
          ))}
          {entries.length > most && (
            <Button small onPress={() => setMost(most + 10 * FIRST_ENTRIES)}>
              Show more ({count(entries.length - most)} left)
            </Button>
          )}
        </div>
      )}
    </div>
  );
}

function Name({ name }: { name: string | undefined }) {
  return name === undefined ? null : <span className={styles.name}>{visible(name)}: </span>;
}

function Leaf({ value }: { value: unknown }) {
  const [whole, showWhole] = useState(false);
  if (typeof value !== "string") return <span className={styles.atom}>{String(value)}</span>;
  const { shown, left } = cut(value, whole ? value.length : FIRST_CHARACTERS);
  return (
    <span className={styles.string} dir="auto">
      "{visible(shown)}"
      {left > 0 && (
        <Button small onPress={() => showWhole(true)}>
          Show all ({count(value.length)} characters)
        </Button>
      )}
    </span>
  );
}
