// Recorded text, unchanged. Long text is shown in parts.
import { useState } from "react";
import { count } from "../format/numbers";
import { cut, visible } from "../text/visible";
import { Button } from "./Button";
import styles from "./LongText.module.css";

const FIRST = 10_000;
const MORE = 100_000;

interface Props {
  text: string;
  mono?: boolean;
  /** The number of characters at first. */
  first?: number;
}

export function LongText({ text, mono = false, first = FIRST }: Props) {
  const [most, setMost] = useState(first);
  const { shown, left } = cut(text, most);
  return (
    <div className={styles.text}>
      <div className={mono ? styles.mono : styles.prose} dir="auto">
        {visible(shown)}
      </div>
      {left > 0 && (
        <Button small onPress={() => setMost(most + MORE)}>
          Show more ({count(left)} characters left)
        </Button>
      )}
    </div>
  );
}
