// The comparison of the variants of a batch: verdicts, and figures with intervals.
import { Badge, type Tone } from "../../../components/Badge";
import { Interval } from "../../../components/Interval";
import { Select } from "../../../components/Select";
import { ErrorNotice, Loading } from "../../../components/States";
import { count, counted, UNKNOWN } from "../../../format/numbers";
import { visible } from "../../../text/visible";
import {
  type Batch,
  type Comparison as Compared,
  type Experiment,
  type Run,
  useComparison,
  type VariantComparison,
} from "../queries";
import {
  FIGURES,
  type Figure,
  median,
  outcomesOf,
  percentage,
  RECORDED,
  reachOf,
  signed,
  whyNoInterval,
  whyUnknown,
  withMinus,
} from "./figures";
import { Judging } from "./Judging";
import styles from "./Results.module.css";

const VERDICTS: Record<VariantComparison["verdict"], { sign: string; tone: Tone }> = {
  better: { sign: "▲", tone: "good" },
  worse: { sign: "▼", tone: "bad" },
  "trade-off": { sign: "⇅", tone: "warn" },
  "no difference shown": { sign: "=", tone: "plain" },
  failure: { sign: "✕", tone: "bad" },
  "not enough runs": { sign: "…", tone: "plain" },
};

/** The differences of these may be chance, so no colour calls one of them good or bad. */
const CHANCE: readonly VariantComparison["verdict"][] = ["no difference shown", "not enough runs"];

interface Props {
  experiment: Experiment;
  batch: Batch;
  runs: readonly Run[];
  base: string | undefined;
  onBase: (base: string) => void;
}

export function Comparison({ experiment, batch, runs, base, onBase }: Props) {
  const found = useComparison(experiment.id, batch, base);
  if (batch.progress.done === 0) return null;
  if (found.isPending) return <Loading what="the comparison" lines={4} />;
  if (found.isError) {
    return (
      <ErrorNotice
        what="The variants could not be compared"
        error={found.error}
        onRetry={() => void found.refetch()}
      />
    );
  }
  const compared = found.data;
  return (
    <section className={styles.block} aria-label="Comparison">
      <header className={styles.line}>
        <h2>Comparison</h2>
        <Select
          label="Baseline"
          value={compared.base}
          options={[...batch.variants, RECORDED].map((name) => ({ id: name, name }))}
          onChange={onBase}
        />
        <span className={styles.about}>
          {counted(compared.base_runs, "run")}
          {compared.base_failed > 0 && `, ${count(compared.base_failed)} failed`}
        </span>
      </header>
      {compared.variants.length === 0 && (
        <p className={styles.about}>This batch has no other variant</p>
      )}
      {compared.variants.map((variant) => (
        <Variant
          key={variant.variant}
          compared={compared}
          variant={variant}
          runs={runs}
          experiment={experiment}
        />
      ))}
      {compared.base !== RECORDED && compared.variants.length > 0 && (
        <Judging experimentId={experiment.id} batch={batch} base={compared.base} />
      )}
    </section>
  );
}

interface VariantProps {
  compared: Compared;
  variant: VariantComparison;
  runs: readonly Run[];
  experiment: Experiment;
}

function Variant({ compared, variant, runs, experiment }: VariantProps) {
  const { sign, tone } = VERDICTS[variant.verdict];
  const [version] = variant.variant.split("@");
  const note = experiment.versions.find(({ number }) => `v${number}` === version)?.note;
  return (
    <article className={styles.variant} aria-label={variant.variant}>
      <header className={styles.line}>
        <h3>{visible(variant.variant)}</h3>
        {note && <span className={styles.about}>{visible(note.slice(0, 200))}</span>}
        <Badge tone={tone}>
          <span aria-hidden="true">{sign}</span> {variant.verdict}
        </Badge>
        <span>{visible(withMinus(variant.why))}</span>
      </header>
      <p className={styles.about}>
        {count(variant.runs)} runs
        {variant.failed > 0 && `, ${count(variant.failed)} failed`}
        {variant.model && `, model ${visible(variant.model)}`}; {count(variant.same_outputs)} of{" "}
        {count(variant.pairs)} pairs have equal outputs; {count(variant.truncated)} outputs reached
        the token limit (baseline: {count(variant.base_truncated)}).
      </p>
      {variant.error && <p className={styles.problem}>{visible(variant.error)}</p>}
      <Figures compared={compared} variant={variant} runs={runs} experiment={experiment} />
      {variant.judged.map((judged) => (
        <p key={`${judged.model} ${judged.criteria}`} className={styles.judged}>
          <strong>{visible(judged.model)}</strong> prefers {visible(variant.variant)} in{" "}
          {judged.new} pairs and {visible(compared.base)} in {judged.base}, with {judged.ties} ties
          {judged.swayed > 0 &&
            ` (${judged.swayed} because its answer depended on the order of the outputs)`}
          {judged.unreadable > 0 && `; ${judged.unreadable} replies were unreadable`}. Criteria: “
          {visible(judged.criteria)}”
        </p>
      ))}
    </article>
  );
}

function Figures({ compared, variant, runs, experiment }: VariantProps) {
  const before = outcomesOf(compared.base, runs, experiment.items);
  const after = outcomesOf(variant.variant, runs, experiment.items);
  const reasons = [...new Set(FIGURES.flatMap(({ id }) => whyNoInterval(variant[id]) ?? []))];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard
    <div className={styles.scroll} tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Metric</th>
            <th scope="col">n</th>
            <th scope="col">{visible(compared.base)}: mean (median)</th>
            <th scope="col">{visible(variant.variant)}: mean (median)</th>
            <th scope="col">Change</th>
            <th scope="col">Mean difference [95 % interval]</th>
          </tr>
        </thead>
        <tbody>
          {FIGURES.map(({ id, name, format }) => {
            const found = variant[id];
            return (
              <tr key={id}>
                <th scope="row">{name}</th>
                <td>{count(found.n)}</td>
                <td>{meanAndMedian(found.base, before, id, format)}</td>
                <td>{meanAndMedian(found.new, after, id, format)}</td>
                <td>
                  <WithWhy text={percentage(found.percent)} why={whyUnknown(found)} />
                </td>
                <td className={styles.interval}>
                  <Interval
                    estimate={found.mean}
                    low={found.low}
                    high={found.high}
                    reach={reachOf([found]) * 1.1}
                    {...(CHANCE.includes(variant.verdict) ? {} : { better: "lower" })}
                    format={(value) => signed(value, format)}
                  />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {reasons.map((reason) => (
        <p key={reason} className={styles.about}>
          {reason}
        </p>
      ))}
    </div>
  );
}

function meanAndMedian(
  mean: number | null,
  outcomes: readonly { [figure in Figure]: number | null }[],
  figure: Figure,
  format: (value: number | null) => string,
): string {
  if (mean === null) return UNKNOWN;
  const middle = median(outcomes.map((outcome) => outcome[figure]));
  return middle === null ? format(mean) : `${format(mean)} (${format(middle)})`;
}

/** A value, or for an unknown one the reason. */
function WithWhy({ text, why }: { text: string; why: string | null }) {
  if (why === null) return text;
  return (
    <span>
      {text} <span className={styles.why}>{why}</span>
    </span>
  );
}
