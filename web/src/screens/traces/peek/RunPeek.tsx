// A run next to the list: its outcome, question and answer, and its steps, failed ones first.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { isNotFound } from "../../../api/client";
import type { ListedSpan, RunSummary } from "../../../api/schema";
import { KindMark, StatusBadge } from "../../../components/Badge";
import { Keys } from "../../../components/Keys";
import { Messages } from "../../../components/messages/Messages";
import { textMessage } from "../../../components/messages/message";
import { Origin, originOf } from "../../../components/Origin";
import { SpanName } from "../../../components/SpanName";
import { ErrorNotice, Loading } from "../../../components/States";
import { Took } from "../../../components/Took";
import { TotalCost } from "../../../components/TotalCost";
import { count, duration } from "../../../format/numbers";
import { exactMoment, moment } from "../../../format/times";
import { visible } from "../../../text/visible";
import { inAndOut } from "../figures";
import { RunActions } from "../RunActions";
import { runTitle } from "../runTitle";
import styles from "./Peek.module.css";
import { type RunInShort, runInShort, useReadAhead } from "./reading";

interface Props {
  runId: string;
  /** The rows of the list. */
  rows: readonly RunSummary[];
  /** Called after the deletion. */
  onGone: () => void;
}

export function RunPeek({ runId, rows, onGone }: Props) {
  const queries = useQueryClient();
  const place = rows.findIndex((run) => run.run_id === runId);
  const row = rows[place];
  const read = useQuery({
    ...runInShort(runId, row),
    // While it is read again, the earlier data stays.
    placeholderData: (before) => (before?.run.run_id === runId ? before : undefined),
  });
  useReadAhead(read.isSuccess, place, (next) => {
    const run = rows[next];
    if (run) void queries.prefetchQuery(runInShort(run.run_id, run));
  });
  const run = row ?? (isNotFound(read.error) ? undefined : read.data?.run);
  const retry = () => void read.refetch();
  if (!run) {
    if (!read.error) return <Loading what="the run" />;
    return <ErrorNotice what="The run could not be read" error={read.error} onRetry={retry} />;
  }
  return (
    <>
      <Header run={run} onGone={onGone} />
      <Said run={run} />
      {read.error && (
        <ErrorNotice what="The steps could not be read" error={read.error} onRetry={retry} />
      )}
      {!read.error && (read.data ? <Steps {...read.data} /> : <Loading what="the steps" />)}
    </>
  );
}

function Header({ run, onGone }: { run: RunSummary; onGone: () => void }) {
  const { sums } = run;
  return (
    <header className={styles.header}>
      <div className={styles.title}>
        <StatusBadge status={run.status} lastUs={run.last_us} />
        <h2>{visible(runTitle(run).slice(0, 400))}</h2>
      </div>
      <div className={styles.actions}>
        <Link to="/runs/$runId" params={{ runId: run.run_id }} className={styles.open}>
          Open <Keys keys="Enter" />
        </Link>
        <RunActions run={run} onGone={onGone} />
      </div>
      <dl className={styles.facts}>
        <Fact name="Started" title={exactMoment(run.start_us)}>
          {moment(run.start_us)}
        </Fact>
        <Fact name="Duration">
          <Took
            status={run.status}
            took={run.duration_us}
            startUs={run.start_us}
            lastUs={run.last_us}
          />
        </Fact>
        <Fact name="Cost">
          <TotalCost sums={sums} />
        </Fact>
        <Fact name="Tokens">{inAndOut(sums.tokens)}</Fact>
        <Fact name="Model calls">{count(sums.model_calls)}</Fact>
        <Fact name="Tool calls">{count(sums.tool_calls)}</Fact>
        <Fact name="Errors">{count(sums.faults)}</Fact>
        {run.models.length > 0 && <Fact name="Models">{visible(run.models.join(", "))}</Fact>}
        <Fact name="Thread">
          <Link
            to="/threads/$threadId"
            params={{ threadId: run.thread_id }}
            search={{ run: run.run_id }}
          >
            {visible(run.thread_id.slice(0, 100))}
          </Link>
        </Fact>
      </dl>
      <p className={styles.origin}>
        <Origin of={originOf([run])} list="/runs" />
      </p>
    </header>
  );
}

function Fact({
  name,
  title,
  children,
}: {
  name: string;
  title?: string;
  children: React.ReactNode;
}) {
  return (
    <div title={title}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The beginning of input and output, from the list. */
function Said({ run }: { run: RunSummary }) {
  const messages = [
    ...(run.question ? [textMessage("input", run.question)] : []),
    ...(run.answer ? [textMessage("output", run.answer)] : []),
  ];
  if (messages.length === 0) return null;
  return (
    <section className={styles.part} aria-label="Question and answer">
      <Messages messages={messages} label="First input and last output" />
    </section>
  );
}

function Steps({ run, failed }: RunInShort) {
  const known = new Set(failed.map((span) => span.span_id));
  const others = run.spans.data.filter((span) => !known.has(span.span_id));
  const left = run.sums.spans - failed.length - others.length;
  return (
    <section className={styles.part} aria-label="Steps">
      {failed.length > 0 && (
        <>
          <h3>Failed</h3>
          <StepList spans={failed} />
          <h3>Other steps</h3>
        </>
      )}
      <StepList spans={others} />
      {left > 0 && <p className={styles.about}>{count(left)} more in the trace</p>}
    </section>
  );
}

function StepList({ spans }: { spans: readonly ListedSpan[] }) {
  return (
    <ul className={styles.spans}>
      {spans.map((span) => (
        <li key={`${span.trace_id} ${span.span_id}`}>
          <Link
            to="/traces/$traceId"
            params={{ traceId: span.trace_id }}
            search={{ span: span.span_id }}
            className={styles.span}
          >
            <KindMark kind={span.kind} />
            <span className={styles.name}>
              <SpanName
                kind={span.kind}
                name={visible((span.name || span.operation).slice(0, 200))}
              />
            </span>
            <StatusBadge status={span.status} quiet />
            <span className={styles.took}>{duration(span.duration_us)}</span>
            {span.error && (
              <span className={styles.error}>{visible(span.error.slice(0, 300))}</span>
            )}
          </Link>
        </li>
      ))}
    </ul>
  );
}
