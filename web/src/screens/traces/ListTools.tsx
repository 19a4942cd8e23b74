// The options of the lists of runs and spans in addition to the query: groups, and live updates.
import { useSearch } from "@tanstack/react-router";
import { Select } from "../../components/Select";
import { LiveToggle } from "../../components/table/LiveToggle";
import { GROUPINGS, type ListSearch } from "../../components/table/listSearch";
import { useSearchChange } from "../../components/table/useTableSearch";
import { BUCKETS, bucketName, bucketOf } from "./grouping";

const NONE = "none";
const CHOICES = [
  { id: NONE, name: "No groups" },
  ...GROUPINGS.map((grouping) => ({ id: grouping, name: `By ${grouping}` })),
];

interface Props {
  isLive: boolean;
  onLive: (isLive: boolean) => void;
}

export function ListTools({ isLive, onLive }: Props) {
  const { group, bucket }: ListSearch = useSearch({ strict: false });
  const change = useSearchChange();
  const seconds = String(bucketOf(bucket));
  const isKnown = BUCKETS.some((each) => each.id === seconds);
  return (
    <>
      <Select<string>
        label="Groups"
        hideLabel
        value={group ?? NONE}
        options={CHOICES}
        onChange={(chosen) =>
          change({
            group: GROUPINGS.find((each) => each === chosen),
            bucket: undefined,
            peek: undefined,
          })
        }
      />
      {group === "time" && (
        <Select<string>
          label="Length of a group"
          hideLabel
          value={seconds}
          options={
            isKnown ? BUCKETS : [...BUCKETS, { id: seconds, name: bucketName(Number(seconds)) }]
          }
          onChange={(chosen) => change({ bucket: chosen })}
        />
      )}
      <LiveToggle isLive={isLive} onLive={onLive} />
    </>
  );
}
