// The time range of the rows. It is part of the query's text, like all other filters.
import { useState } from "react";
import { Button } from "../Button";
import { Dialog } from "../Dialog";
import { Select } from "../Select";
import { replaced } from "./editing";
import styles from "./ListSearch.module.css";
import { type Parsed, useLastParsed, useQueryEdit, useQueryText } from "./queryText";

const TIME_FIELDS = ["since", "until", "period", "start"];
const CHOICES = [
  { id: "", name: "All time" },
  { id: "period:last_hour", name: "Last hour" },
  { id: "period:last_day", name: "Last day" },
  { id: "period:last_week", name: "Last week" },
  { id: "period:last_month", name: "Last month" },
  { id: "custom", name: "Custom…" },
];

export function TimeChoice() {
  const { text } = useQueryText();
  const parsed = useLastParsed(text);
  const edit = useQueryEdit();
  const [isOpen, open] = useState(false);
  const put = (term: string) =>
    void edit((now, read) => replaced(now, read, TIME_FIELDS, term)).catch(() => {});
  return (
    <>
      <Select
        label="Time"
        hideLabel
        value={chosenTime(parsed)}
        options={CHOICES}
        onChange={(chosen) => (chosen === "custom" ? open(true) : put(chosen))}
      />
      <CustomTime isOpen={isOpen} onOpenChange={open} onChosen={put} />
    </>
  );
}

function chosenTime(parsed: Parsed | null): string {
  const times = parsed?.terms.filter((term) => TIME_FIELDS.includes(term.field)) ?? [];
  const [only] = times;
  if (!parsed || !only) return "";
  const said = parsed.text.slice(only.start, only.end);
  return times.length === 1 && CHOICES.some((choice) => choice.id === said) ? said : "custom";
}

interface CustomProps {
  isOpen: boolean;
  onOpenChange: (open: boolean) => void;
  onChosen: (term: string) => void;
}

function CustomTime({ isOpen, onOpenChange, onChosen }: CustomProps) {
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const terms = [from && `since:${inUtc(from)}`, to && `until:${inUtc(to)}`].filter(Boolean);
  const isWrong = from !== "" && to !== "" && from >= to;
  const apply = () => {
    onChosen(terms.join(" "));
    onOpenChange(false);
  };
  return (
    <Dialog
      title="Time range"
      isOpen={isOpen}
      onOpenChange={onOpenChange}
      actions={
        <Button kind="primary" isDisabled={terms.length === 0 || isWrong} onPress={apply}>
          Show
        </Button>
      }
    >
      <div className={styles.times}>
        <label>
          From
          <input type="datetime-local" value={from} onChange={(e) => setFrom(e.target.value)} />
        </label>
        <label>
          To
          <input type="datetime-local" value={to} onChange={(e) => setTo(e.target.value)} />
        </label>
        {isWrong && <p role="alert">The end must be after the start.</p>}
      </div>
    </Dialog>
  );
}

/** A local time of the field, in UTC as the query language reads it. */
function inUtc(local: string): string {
  return new Date(local).toISOString().replace(/(:\d\d)\.\d+Z$/, "$1Z");
}
