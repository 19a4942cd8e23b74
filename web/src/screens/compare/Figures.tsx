// The figures of both sides, and their differences. More or fewer is neither good nor bad here.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { ComparedSide, TraceComparison } from "../../api/schema";
import { Badge, StatusBadge } from "../../components/Badge";
import { cost, count, duration } from "../../format/numbers";
import { exactMoment, moment } from "../../format/times";
import { visible } from "../../text/visible";
import styles from "./Compare.module.css";
import { signed } from "./signed";
import { linkTo } from "./subjects";

interface Figure {
  name: string;
  a: ReactNode;
  b: ReactNode;
  difference: string;
  /** Whether both sides have the same value. */
  isSame: boolean;
}

export function Figures({ comparison }: { comparison: TraceComparison }) {
  const { a, b } = comparison;
  return (
    <table className={styles.figures}>
      <thead>
        <tr>
          <td />
          <SideHead letter="A" side={a} />
          <SideHead letter="B" side={b} />
          <th scope="col">Difference</th>
        </tr>
      </thead>
      <tbody>
        {figuresOf(comparison).map((figure) => (
          <tr key={figure.name} data-differs={!figure.isSame}>
            <th scope="row">{figure.name}</th>
            <td>{figure.a}</td>
            <td>{figure.b}</td>
            <td>{figure.isSame ? "" : figure.difference}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function SideHead({ letter, side }: { letter: string; side: ComparedSide }) {
  const { subject, question } = side;
  return (
    <th scope="col">
      <span className={styles.side}>
        <span className={styles.letter}>{letter}</span>
        <Badge>{subject.kind}</Badge>
        <Link {...linkTo(subject)} className={styles.name} title={visible(question)}>
          {visible(question || subject.id)}
        </Link>
      </span>
    </th>
  );
}

function figuresOf({ a, b, tools }: TraceComparison): Figure[] {
  const status = (side: ComparedSide) => <StatusBadge status={side.status} lastUs={side.last_us} />;
  const models = (side: ComparedSide) => visible(side.models.join(", ")) || "–";
  const releases = (side: ComparedSide) => visible(side.releases.join(", ")) || "–";
  const started = (side: ComparedSide) => (
    <time title={exactMoment(side.start_us)}>{moment(side.start_us)}</time>
  );
  return [
    { name: "Started", a: started(a), b: started(b), difference: "", isSame: true },
    {
      name: "Status",
      a: status(a),
      b: status(b),
      difference: "other status",
      isSame: a.status === b.status,
    },
    {
      name: "Model",
      a: models(a),
      b: models(b),
      difference: "other model",
      isSame: models(a) === models(b),
    },
    {
      name: "Release",
      a: releases(a),
      b: releases(b),
      difference: "other release",
      isSame: releases(a) === releases(b),
    },
    amount("Duration", a.duration_us, b.duration_us, duration),
    amount("Model calls", a.totals.model_calls, b.totals.model_calls, count),
    amount("Tool calls", a.totals.tool_calls, b.totals.tool_calls, count),
    ...tools
      .filter((tool) => tool.a !== tool.b)
      .map((tool) => amount(`Calls of ${visible(tool.name)}`, tool.a, tool.b, count)),
    amount("Failed calls", a.totals.failed, b.totals.failed, count),
    amount("Input tokens", a.totals.tokens.input, b.totals.tokens.input, count),
    amount("Output tokens", a.totals.tokens.output, b.totals.tokens.output, count),
    amount("Cached tokens", a.totals.tokens.cached, b.totals.tokens.cached, count),
    amount("Cost", a.totals.cost, b.totals.cost, cost),
  ].filter((figure) => figure.a !== "–" || figure.b !== "–");
}

function amount(
  name: string,
  a: number | null,
  b: number | null,
  write: (value: number | null) => string,
): Figure {
  return {
    name,
    a: write(a),
    b: write(b),
    difference: signed(a, b, write),
    isSame: write(a) === write(b),
  };
}
