// Two selected groups, such as two releases, with the differences of their figures.
import type { Grouping } from "../../components/table/listSearch";
import { cost, count, milliseconds, percent } from "../../format/numbers";
import { visible } from "../../text/visible";
import styles from "./Groups.module.css";
import { failureRate } from "./groupColumns";
import { groupName, percentileName } from "./grouping";
import { rateDifference } from "./rateDifference";
import type { GroupRow } from "./readGroups";

interface Props {
  by: Grouping;
  parts: Grouping | undefined;
  bucketSeconds: number;
  chosen: readonly GroupRow[];
}

export function GroupComparison({ by, parts, bucketSeconds, chosen }: Props) {
  if (chosen.length === 0) return null;
  const nameOf = (group: GroupRow) =>
    [
      group.outer && groupName(by, group.outer, bucketSeconds),
      groupName(group.outer ? (parts ?? by) : by, group, bucketSeconds),
    ]
      .filter(Boolean)
      .join(", ");
  // By name, so that release 1.4 is before 1.5, however the table is sorted.
  const [a, b, ...others] = chosen.toSorted((one, other) =>
    nameOf(one).localeCompare(nameOf(other), "en", { numeric: true }),
  );
  if (!a || !b || others.length > 0) {
    return (
      <section className={styles.comparison} aria-label="Compared groups">
        <p className={styles.hint}>Select exactly two groups to compare their figures.</p>
      </section>
    );
  }
  return (
    <section className={styles.comparison} aria-label="Compared groups">
      <table>
        <thead>
          <tr>
            <th scope="col" aria-label="Figure" />
            <th scope="col">{visible(nameOf(a))}</th>
            <th scope="col">{visible(nameOf(b))}</th>
            <th scope="col">{`Change from ${visible(nameOf(a))} to ${visible(nameOf(b))}`}</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">Runs</th>
            <td>{count(a.runs)}</td>
            <td>{count(b.runs)}</td>
            <td />
          </tr>
          <tr>
            <th scope="row">Failed runs</th>
            <td>{failureRate(a)}</td>
            <td>{failureRate(b)}</td>
            <td>{rateDifference(rateOf(a), rateOf(b))}</td>
          </tr>
          {figures(a.duration_of).map(({ name, of, format }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{format(of(a))}</td>
              <td>{format(of(b))}</td>
              <td>{change(of(a), of(b))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const figures = (durationsOf: GroupRow["duration_of"]) => [
  { name: "Cost per run", of: (group: GroupRow) => group.cost_per_run, format: cost },
  {
    name: percentileName("p50", durationsOf),
    of: (group: GroupRow) => group.duration?.p50 ?? null,
    format: milliseconds,
  },
  {
    name: percentileName("p95", durationsOf),
    of: (group: GroupRow) => group.duration?.p95 ?? null,
    format: milliseconds,
  },
  { name: "Errors", of: (group: GroupRow) => group.faults, format: count },
  { name: "Cost", of: (group: GroupRow) => group.cost, format: cost },
];

const rateOf = (group: GroupRow) => ({ runs: group.runs ?? 0, failed: group.failed_runs ?? 0 });

/** "+12.0 %"; empty if a figure is unknown, or if the first one is 0. */
function change(a: number | null, b: number | null): string {
  if (a === null || b === null) return "";
  if (a === b) return "no difference";
  if (a === 0) return "";
  return `${b >= a ? "+" : ""}${percent(b / a - 1)}`;
}
