// The results of an experiment: one batch, its comparison and its outputs.
import { Button } from "../../../components/Button";
import { EmptyState, ErrorNotice, Loading } from "../../../components/States";
import type { ExperimentSearch } from "../../searches";
import { type Batch, type Experiment, type SearchChange, useRuns } from "../queries";
import { BatchBar } from "./BatchBar";
import { Comparison } from "./Comparison";
import { Outputs } from "./Outputs";
import styles from "./Results.module.css";

interface Props {
  experiment: Experiment;
  batches: readonly Batch[];
  item: number;
  search: ExperimentSearch;
  onSearch: (change: SearchChange) => void;
  onRun: () => void;
}

export function ResultsPanel(props: Props) {
  const { batches, search, onSearch, onRun } = props;
  const batch = chosenBatch(batches, search.batch);
  if (!batch) {
    return (
      <EmptyState
        title="No runs yet"
        action={
          <Button kind="primary" keys="Mod+Enter" onPress={onRun}>
            Run…
          </Button>
        }
      >
        Run the original and your versions several times. The page then shows the effect on cost,
        tokens, time and output, with confidence intervals.
      </EmptyState>
    );
  }
  return (
    <>
      <BatchBar
        batches={batches}
        batch={batch}
        onChoose={(chosen) => onSearch({ batch: chosen, base: undefined, repeat: undefined })}
      />
      <Ran {...props} batch={batch} />
    </>
  );
}

/** The batch in the address, otherwise the newest. */
export function chosenBatch(
  batches: readonly Batch[],
  wanted: string | undefined,
): Batch | undefined {
  return batches.find((each) => each.id === wanted) ?? batches.at(-1);
}

function Ran({ experiment, batch, item, search, onSearch }: Props & { batch: Batch }) {
  const found = useRuns(experiment.id, batch);
  const repeat = Math.min(Math.max(0, Number(search.repeat ?? 0) || 0), batch.repeats - 1);
  if (found.isPending) return <Loading what="the runs" />;
  if (found.isError) {
    return (
      <ErrorNotice
        what="The runs could not be read"
        error={found.error}
        onRetry={() => void found.refetch()}
      />
    );
  }
  const runs = found.data.id === batch.id ? found.data.runs : [];
  return (
    <div className={styles.results}>
      <Outputs
        experiment={experiment}
        batch={batch}
        runs={runs}
        base={search.base}
        item={item}
        repeat={repeat}
        onItem={(number) => onSearch({ item: number ? String(number) : undefined })}
        onRepeat={(number) => onSearch({ repeat: number ? String(number) : undefined })}
      />
      <Comparison
        experiment={experiment}
        batch={batch}
        runs={runs}
        base={search.base}
        onBase={(base) => onSearch({ base })}
      />
    </div>
  );
}
