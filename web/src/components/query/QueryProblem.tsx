// The error of a query. Its position is marked in the text.
import type { ParsedQuery } from "../../api/schema";
import styles from "./QueryBar.module.css";

interface Props {
  id: string;
  text: string;
  problem: NonNullable<ParsedQuery["problem"]>;
}

export function QueryProblem({ id, text, problem }: Props) {
  const { start, message, hint } = problem;
  const length = /^\S*/.exec(text.slice(start))?.[0].length ?? 0;
  return (
    <p id={id} className={styles.problem} role="status">
      <code>
        {text.slice(0, start)}
        <mark>{text.slice(start, start + length) || "…"}</mark>
        {text.slice(start + length)}
      </code>{" "}
      <span>
        Column {start + 1}: {message} {hint} The list shows the previous results.
      </span>
    </p>
  );
}
