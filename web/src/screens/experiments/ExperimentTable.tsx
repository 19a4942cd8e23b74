// The list of experiments.
import { Link } from "@tanstack/react-router";
import { Button } from "../../components/Button";
import { count } from "../../format/numbers";
import { ago, exactMoment } from "../../format/times";
import { visible } from "../../text/visible";
import styles from "./ExperimentTable.module.css";
import type { Listed } from "./queries";
import { BatchState } from "./results/BatchBar";

interface Props {
  rows: readonly Listed[];
  onDelete: (row: Listed) => void;
}

export function ExperimentTable({ rows, onDelete }: Props) {
  return (
    <table className={styles.table}>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col" className={styles.number}>
            Calls
          </th>
          <th scope="col" className={styles.number}>
            Versions
          </th>
          <th scope="col">Last run</th>
          <th scope="col">Changed</th>
          <th scope="col">
            <span className="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id}>
            <td className={styles.name}>
              <Link to="/experiments/$experimentId" params={{ experimentId: row.id }}>
                {visible(row.name)}
              </Link>
            </td>
            <td className={styles.number} data-label="Calls">
              {count(row.items)}
            </td>
            <td className={styles.number} data-label="Versions">
              {count(row.version)}
            </td>
            <td data-label="Last run">
              <LastBatch row={row} />
            </td>
            <td data-label="Changed">
              <time title={exactMoment(row.updated_us)}>{ago(row.updated_us)}</time>
            </td>
            <td className={styles.actions}>
              <Button
                kind="quiet"
                small
                aria-label={`Delete ${row.name}`}
                onPress={() => onDelete(row)}
              >
                Delete
              </Button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function LastBatch({ row }: { row: Listed }) {
  const last = row.last_batch;
  if (!last) return <span className={styles.quiet}>never</span>;
  return (
    <span className={styles.batch}>
      <BatchState state={last.state} />
      <span>
        {count(last.done)} of {count(last.total)}
        {last.failed > 0 && `, ${count(last.failed)} failed`}
      </span>
    </span>
  );
}
