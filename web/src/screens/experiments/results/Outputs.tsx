// The outputs of all variants for one call in one repeat, side by side, compared with the base.
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Badge } from "../../../components/Badge";
import { Button } from "../../../components/Button";
import { Code } from "../../../components/Code";
import { LongText } from "../../../components/LongText";
import { Select } from "../../../components/Select";
import { TextDiff } from "../../../components/TextDiff";
import { cost, count, duration } from "../../../format/numbers";
import { useShortcut } from "../../../shortcuts/ShortcutProvider";
import { visible } from "../../../text/visible";
import type { Batch, Experiment, Outcome, Run } from "../queries";
import { RECORDED } from "./figures";
import styles from "./Results.module.css";

interface Props {
  experiment: Experiment;
  batch: Batch;
  runs: readonly Run[];
  base: string | undefined;
  item: number;
  repeat: number;
  onItem: (item: number) => void;
  onRepeat: (repeat: number) => void;
}

export function Outputs(props: Props) {
  const { experiment, batch, runs, item, repeat, onItem, onRepeat } = props;
  const [differing, showDifference] = useState(false);
  const base = props.base ?? usualBase(batch);
  const step = (by: number) => onRepeat((repeat + by + batch.repeats) % batch.repeats);
  useShortcut({ keys: "n", does: "Next repeat", where: "Experiment" }, () => step(1));
  useShortcut({ keys: "p", does: "Previous repeat", where: "Experiment" }, () => step(-1));
  useShortcut({ keys: "d", does: "Show or hide differences", where: "Experiment" }, () =>
    showDifference(!differing),
  );
  const outcomeOf = (variant: string): Outcome | undefined =>
    variant === RECORDED
      ? experiment.items[item]?.recorded
      : runs.find((run) => run.variant === variant && run.item === item && run.repeat === repeat);
  const before = outcomeOf(base);
  const others = batch.variants.filter((variant) => variant !== base);
  return (
    <section className={styles.block} aria-label="Outputs">
      <header className={styles.line}>
        <h2>Outputs</h2>
        {experiment.items.length > 1 && (
          <Select
            label="Call"
            value={String(item)}
            options={experiment.items.map((each) => ({
              id: String(each.number),
              name: `${each.number + 1} of ${experiment.items.length}`,
            }))}
            onChange={(chosen) => onItem(Number(chosen))}
          />
        )}
        <Select
          label="Repeat"
          value={String(repeat)}
          options={Array.from({ length: batch.repeats }, (_, number) => ({
            id: String(number),
            name: `${number + 1} of ${batch.repeats}`,
          }))}
          onChange={(chosen) => onRepeat(Number(chosen))}
        />
        <Button small keys="d" aria-pressed={differing} onPress={() => showDifference(!differing)}>
          {differing ? "Hide differences" : "Show differences"}
        </Button>
      </header>
      <div className={styles.outputs}>
        <Output name={base} outcome={before} />
        {others.map((variant) => (
          <Output
            key={variant}
            name={variant}
            outcome={outcomeOf(variant)}
            {...(differing && before ? { before } : {})}
          />
        ))}
      </div>
    </section>
  );
}

/** The server's default base. */
function usualBase({ variants }: Batch): string {
  if (variants.length < 2) return RECORDED;
  return variants.includes("original") ? "original" : (variants[0] ?? RECORDED);
}

interface OutputProps {
  name: string;
  outcome: Outcome | undefined;
  /** The base of the comparison. */
  before?: Outcome;
}

function Output({ name, outcome, before }: OutputProps) {
  return (
    <article className={styles.output} aria-label={`Output of ${name}`}>
      <header className={styles.line}>
        <h3>{visible(name)}</h3>
        {outcome?.link && (
          <Link
            to="/traces/$traceId"
            params={{ traceId: outcome.trace_id }}
            search={{ span: outcome.span_id }}
            className={styles.link ?? ""}
          >
            trace
          </Link>
        )}
      </header>
      {outcome === undefined ? (
        <p className={styles.about}>Not run yet</p>
      ) : (
        <>
          <Told outcome={outcome} before={before} />
          <p className={styles.about}>
            {visible(outcome.model ?? "model unknown")}, {count(outcome.input_tokens)} +{" "}
            {count(outcome.output_tokens)} tokens, cost {cost(outcome.cost)},{" "}
            {duration(outcome.duration_us)}
            {outcome.finish_reason && `, finish reason ${visible(outcome.finish_reason)}`}
          </p>
        </>
      )}
    </article>
  );
}

function Told({ outcome, before }: { outcome: Outcome; before: Outcome | undefined }) {
  if (outcome.error !== null) {
    return (
      <div>
        <Badge tone="bad">
          <span aria-hidden="true">✕</span> failed
        </Badge>
        <p className={styles.problem}>{visible(outcome.error)}</p>
      </div>
    );
  }
  if (before && before.error === null) {
    return <TextDiff before={textOf(before)} after={textOf(outcome)} />;
  }
  return (
    <>
      {outcome.content !== null && <LongText text={outcome.content} first={4_000} />}
      {outcome.tool_calls.map((call, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies a call
        <div key={place}>
          <strong className={styles.mono}>→ {visible(call.name)}</strong>
          <Code text={call.arguments} language="json" label={`Arguments of ${call.name}`} />
        </div>
      ))}
      {outcome.content === null && outcome.tool_calls.length === 0 && (
        <p className={styles.about}>Empty output</p>
      )}
    </>
  );
}

function textOf(outcome: Outcome): string {
  const calls = outcome.tool_calls.map((call) => `→ ${call.name}(${call.arguments})`);
  return [...(outcome.content === null ? [] : [outcome.content]), ...calls].join("\n");
}
