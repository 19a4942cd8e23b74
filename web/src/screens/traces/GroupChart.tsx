// One of the totals over time, as bars over the groups.
import { useMemo, useState } from "react";
import type { Group } from "../../api/schema";
import { Select } from "../../components/Select";
import { TimeChart } from "../../components/TimeChart";
import { cost, count, duration, shortCount } from "../../format/numbers";
import { tokensOf } from "../threads/rows";
import styles from "./Groups.module.css";
import { bucketName } from "./grouping";

const MEASURES = [
  { id: "spans", name: "Spans", of: (group: Group) => group.spans, format: count },
  { id: "errors", name: "Errors", of: (group: Group) => group.faults, format: count },
  { id: "tokens", name: "Tokens", of: tokensOf, format: shortCount },
  { id: "cost", name: "Cost", of: (group: Group) => group.cost, format: cost },
  { id: "busy", name: "Busy", of: (group: Group) => group.busy_us, format: duration },
] as const;
type Measure = (typeof MEASURES)[number];

interface Props {
  groups: readonly Group[];
  bucketSeconds: number;
  onChoose: (group: Group) => void;
}

export function GroupChart({ groups, bucketSeconds, onChoose }: Props) {
  const [chosen, choose] = useState<Measure["id"]>("spans");
  const measure = MEASURES.find((each) => each.id === chosen) ?? MEASURES[0];
  const buckets = useMemo(
    () =>
      groups
        .map((group) => ({ startUs: Number(group.value), value: measure.of(group) }))
        .sort((one, other) => one.startUs - other.startUs),
    [groups, measure],
  );
  return (
    <section className={styles.chart} aria-label="Over time">
      <div className={styles.measure}>
        <Select label="Shown" hideLabel value={chosen} options={MEASURES} onChange={choose} />
      </div>
      <TimeChart
        label={`${measure.name} ${bucketName(bucketSeconds)}`}
        buckets={buckets}
        bucketSeconds={bucketSeconds}
        format={measure.format}
        onChoose={({ startUs }) => {
          const group = groups.find((each) => Number(each.value) === startUs);
          if (group) onChoose(group);
        }}
      />
    </section>
  );
}
