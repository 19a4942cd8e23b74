// The models of all providers with their prices, filtered by the search text.
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { ListedModel } from "../../api/schema";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { type PlainColumn, PlainTable } from "../../components/PlainTable";
import { FindField } from "../../components/table/FindField";
import { cost, count, shortCount, UNKNOWN } from "../../format/numbers";
import { visible } from "../../text/visible";
import { HowFound } from "./HowFound";
import styles from "./Models.module.css";

export interface Row extends ListedModel {
  provider: string;
}

const FIRST = 100;

export function ModelTable({ rows }: { rows: readonly Row[] }) {
  const search: { find?: string } = useSearch({ strict: false });
  const navigate = useNavigate();
  const [most, setMost] = useState(FIRST);
  const [asked, ask] = useState<Row | null>(null);
  const find = search.find ?? "";
  const fitting = useMemo(() => {
    const words = find.toLowerCase().split(/\s+/);
    return rows.filter((row) => {
      const name = `${row.provider}/${row.id}`.toLowerCase();
      return words.every((word) => name.includes(word));
    });
  }, [rows, find]);
  const setFind = (text: string) =>
    void navigate({ to: "/models", search: text ? { find: text } : {}, replace: true });
  const left = fitting.length - most;
  return (
    <>
      <div className={styles.find}>
        <FindField label="Find a model" where="Models" value={find} onChange={setFind} />
        <span role="status" className={styles.quiet}>
          {count(fitting.length)} of {count(rows.length)}
        </span>
      </div>
      <PlainTable
        label="Models"
        columns={columns(ask)}
        rows={fitting.slice(0, most)}
        idOf={(row) => `${row.provider}/${row.id}`}
      />
      {left > 0 && (
        <p className={styles.find}>
          <Button onPress={() => setMost(most * 4)}>Show more ({count(left)} left)</Button>
        </p>
      )}
      <Dialog
        title={`The price of ${asked ? visible(asked.id) : ""}`}
        isOpen={asked !== null}
        onOpenChange={(open) => !open && ask(null)}
      >
        {asked && <HowFound model={asked.id} provider={asked.provider} />}
      </Dialog>
    </>
  );
}

function columns(onAsk: (row: Row) => void): readonly PlainColumn<Row>[] {
  return [
    {
      id: "id",
      name: "Model",
      isTitle: true,
      grows: true,
      cell: (row) => <code>{visible(row.id)}</code>,
    },
    { id: "provider", name: "Provider", cell: (row) => visible(row.provider) },
    {
      id: "context",
      name: "Context",
      align: "end",
      cell: (row) => (
        <span title={count(row.context_window)}>{shortCount(row.context_window)}</span>
      ),
    },
    { id: "input", name: "Input", align: "end", cell: (row) => cost(row.prices?.input) },
    { id: "output", name: "Output", align: "end", cell: (row) => cost(row.prices?.output) },
    {
      id: "cached",
      name: "Cached",
      align: "end",
      cell: (row) => (row.prices ? cost(row.prices.cached) : UNKNOWN),
    },
    {
      id: "why",
      name: "Price source",
      hideName: true,
      align: "end",
      cell: (row) => (
        <Button
          kind="quiet"
          small
          aria-label={`Price source of ${row.id}`}
          onPress={() => onAsk(row)}
        >
          Price source
        </Button>
      ),
    },
  ];
}
