// Where a record comes from: its labels, user, release and metadata. Each is a link to the list that
// it filters.
import { Link } from "@tanstack/react-router";
import { visible } from "../text/visible";
import { Badge } from "./Badge";
import styles from "./Origin.module.css";
import { written } from "./query/editing";

export interface OriginValues {
  labels: readonly string[];
  users: readonly string[];
  releases: readonly string[];
  metadata: readonly (readonly [key: string, value: string])[];
}

const LONGEST = 60;

export function Origin({ of, list }: { of: OriginValues; list: "/runs" | "/traces" | "/threads" }) {
  return originTerms(of).map(({ name, value, query }) => {
    const text = visible(value.length > LONGEST ? `${value.slice(0, LONGEST)}…` : value);
    return (
      <Link
        key={query}
        to={list}
        search={{ query }}
        className={styles.link}
        title={`Show all with ${visible(query)}`}
      >
        <Badge>
          {name && <span className={styles.name}>{visible(name)}</span>} {text}
        </Badge>
      </Link>
    );
  });
}

/** Each value, with the query that selects it. A label needs no name. */
export function originTerms({ labels, users, releases, metadata }: OriginValues) {
  const term = (name: string, field: string, value: string) => ({
    name,
    value,
    query: `${field}:${written(value)}`,
  });
  return [
    ...users.map((user) => term("user", "user", user)),
    ...releases.map((release) => term("release", "release", release)),
    ...metadata.map(([key, value]) => term(key, `metadata.${written(key)}`, value)),
    ...labels.map((label) => term("", "label", label)),
  ];
}

interface OneOrigin {
  labels: readonly string[];
  user: string | null;
  release: string | null;
  metadata: Readonly<Record<string, unknown>>;
}

/** The different values of these records, in their order. */
export function originOf(records: readonly OneOrigin[]): OriginValues {
  const unique = <T,>(values: readonly T[]): T[] => [
    ...new Map(values.map((value) => [JSON.stringify(value), value])).values(),
  ];
  return {
    labels: unique(records.flatMap((each) => each.labels)),
    users: unique(records.flatMap((each) => each.user ?? [])),
    releases: unique(records.flatMap((each) => each.release ?? [])),
    metadata: unique(
      records.flatMap((each) =>
        Object.entries(each.metadata).map(([key, value]) => [key, String(value)] as const),
      ),
    ),
  };
}
