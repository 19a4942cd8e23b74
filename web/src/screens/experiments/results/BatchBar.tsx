// The choice of a batch, its progress, and the actions on it.
import { ProgressBar } from "react-aria-components";
import { Badge, type Tone } from "../../../components/Badge";
import { Button } from "../../../components/Button";
import { useNotices } from "../../../components/Notices";
import { Select } from "../../../components/Select";
import { cost, count, duration } from "../../../format/numbers";
import { moment } from "../../../format/times";
import { useShortcut } from "../../../shortcuts/ShortcutProvider";
import { visible } from "../../../text/visible";
import { type Batch, useCancelBatch, useResumeBatch } from "../queries";
import styles from "./Results.module.css";

const STATES: Record<Batch["state"], { name: string; sign: string; tone: Tone }> = {
  running: { name: "running", sign: "…", tone: "accent" },
  finished: { name: "finished", sign: "✓", tone: "good" },
  cancelled: { name: "cancelled", sign: "⊘", tone: "warn" },
  out_of_budget: { name: "out of budget", sign: "⚠", tone: "warn" },
  interrupted: { name: "interrupted", sign: "⚠", tone: "warn" },
};

export function BatchState({ state }: { state: Batch["state"] }) {
  const { name, sign, tone } = STATES[state];
  return (
    <Badge tone={tone}>
      <span aria-hidden="true">{sign}</span> {name}
    </Badge>
  );
}

interface Props {
  batches: readonly Batch[];
  batch: Batch;
  onChoose: (batch: string) => void;
}

export function BatchBar({ batches, batch, onChoose }: Props) {
  const cancelling = useCancelBatch(batch.experiment_id);
  const resuming = useResumeBatch(batch.experiment_id);
  const { tell } = useNotices();
  const { progress, state } = batch;
  const runs = state === "running";
  const isWhole = progress.done >= progress.total;
  const told = (what: string) => (error: unknown) =>
    tell({ kind: "bad", text: `${what}: ${error instanceof Error ? error.message : error}` });
  const cancel = () => {
    cancelling.mutateAsync(batch.id).catch(told("The runs could not be cancelled"));
  };
  const resume = (retryFailed: boolean) => {
    resuming
      .mutateAsync({ batch: batch.id, retryFailed })
      .catch(told("The runs could not be resumed"));
  };
  useShortcut({ keys: "c", does: "Cancel the runs", where: "Experiment" }, cancel, runs);
  useShortcut(
    { keys: "r", does: "Resume the missing runs", where: "Experiment" },
    () => resume(false),
    !runs && !isWhole,
  );
  return (
    <section className={styles.batch} aria-label="Batch">
      <div className={styles.line}>
        <Select
          label="Batch"
          value={batch.id}
          options={batches.toReversed().map((each) => ({
            id: each.id,
            name: `${moment(each.created_us)}: ${each.variants.join(", ")} × ${each.repeats}`,
          }))}
          onChange={onChoose}
        />
        <BatchState state={state} />
        <span>
          {count(progress.done)} of {count(progress.total)} runs
          {progress.failed > 0 && `, ${count(progress.failed)} failed`}
        </span>
        <span className={styles.about}>
          {count(progress.tokens)} tokens, cost {cost(progress.cost)}, call time{" "}
          {duration(progress.seconds * 1_000_000)}
        </span>
        <span className={styles.actions}>
          {runs && (
            <Button small keys="c" isDisabled={cancelling.isPending} onPress={cancel}>
              {cancelling.isSuccess ? "Cancelling…" : "Cancel"}
            </Button>
          )}
          {!runs && !isWhole && (
            <Button small keys="r" isDisabled={resuming.isPending} onPress={() => resume(false)}>
              Resume
            </Button>
          )}
          {!runs && progress.failed > 0 && (
            <Button small isDisabled={resuming.isPending} onPress={() => resume(true)}>
              Retry failed
            </Button>
          )}
        </span>
      </div>
      {runs && (
        <ProgressBar
          aria-label="Finished runs"
          value={progress.done}
          maxValue={Math.max(1, progress.total)}
          className={styles.progress ?? ""}
        >
          {({ percentage }) => (
            <svg className={styles.track} viewBox="0 0 100 1" preserveAspectRatio="none">
              <title>Progress</title>
              <rect className={styles.done} width={percentage ?? 0} height="1" />
            </svg>
          )}
        </ProgressBar>
      )}
      {batch.reason && <p className={styles.about}>{visible(batch.reason)}</p>}
    </section>
  );
}
