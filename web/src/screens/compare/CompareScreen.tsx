// Two runs, traces, threads or spans side by side: what changed in one line, the figures, the steps.
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { client, isNotFound, ok } from "../../api/client";
import type { ComparedSide, TraceComparison } from "../../api/schema";
import { isRunning } from "../../components/Badge";
import { Button } from "../../components/Button";
import { Checkbox } from "../../components/Checkbox";
import { CopyButton } from "../../components/CopyButton";
import { EmptyState, ErrorNotice, Loading } from "../../components/States";
import { WRITTEN } from "../../live/events";
import { useLiveRefresh } from "../../live/useLiveRefresh";
import { Screen } from "../../shell/Screen";
import { withQuotesAsRecorded } from "../../text/visible";
import { Candidates } from "./Candidates";
import styles from "./Compare.module.css";
import { Figures } from "./Figures";
import { Steps } from "./Steps";
import { stepsInWords } from "./steps";

const APART_MS = 2_000;

export function CompareScreen() {
  const { a, b } = useSearch({ from: "/compare" });
  if (a && b) return <Compared key={`${a} ${b}`} a={a} b={b} />;
  return (
    <Screen title="Compare">
      <EmptyState
        title={a || b ? "Choose the other side" : "Choose two runs"}
        action={<Link to="/runs">Show all runs</Link>}
      >
        Select two rows of a list of runs, threads or spans with the key <kbd>x</kbd>, then press{" "}
        <kbd>c</kbd>.{(a ?? b) && <Candidates of={a ?? b ?? ""} />}
      </EmptyState>
    </Screen>
  );
}

function Compared({ a, b }: { a: string; b: string }) {
  const navigate = useNavigate({ from: "/compare" });
  const read = useQuery({
    queryKey: ["comparison", a, b],
    queryFn: ({ signal }) =>
      ok(client.GET("/api/v1/comparison", { params: { query: { a, b } }, signal })),
  });
  const running = read.data ? runningSides(read.data) : "";
  useLiveRefresh(WRITTEN, () => read.refetch(), running !== "", undefined, APART_MS);
  return (
    <Screen
      title="Compare"
      actions={
        <>
          <Button small onPress={() => void navigate({ search: { a: b, b: a }, replace: true })}>
            Swap A and B
          </Button>
          <CopyButton text={() => location.href} label="Copy link" />
        </>
      }
    >
      {read.data && !isNotFound(read.error) ? (
        <Shown comparison={read.data} running={running} />
      ) : isNotFound(read.error) ? (
        <EmptyState
          title="One side is missing"
          action={<Link to="/runs">Choose two other runs</Link>}
        >
          {withQuotesAsRecorded((read.error as Error).message)} It was deleted, or the link is
          incomplete.
        </EmptyState>
      ) : read.error ? (
        <ErrorNotice
          what="The comparison failed"
          error={read.error}
          onRetry={() => void read.refetch()}
        />
      ) : (
        <Loading what="the comparison" lines={12} />
      )}
    </Screen>
  );
}

function Shown({ comparison, running }: { comparison: TraceComparison; running: string }) {
  const [areEqualShown, showEqual] = useState(false);
  return (
    <div className={styles.page}>
      <p className={styles.summary}>{comparison.summary}</p>
      {running && (
        <p className={styles.note} role="status">
          {running}
        </p>
      )}
      <Figures comparison={comparison} />
      <section className={styles.steps} aria-labelledby="steps">
        <header className={styles.header}>
          <h2 id="steps">Steps</h2>
          <span className={styles.about}>{stepsInWords(comparison)}</span>
          <Checkbox isSelected={areEqualShown} onChange={showEqual}>
            Show equal steps
          </Checkbox>
        </header>
        <Steps steps={comparison.steps} areEqualShown={areEqualShown} />
      </section>
    </div>
  );
}

function isSideRunning(side: ComparedSide): boolean {
  return side.unfinished > 0 && isRunning("unfinished", side.last_us);
}

/** Which sides still run, as a sentence; empty if none does. */
function runningSides({ a, b }: TraceComparison): string {
  const running = [isSideRunning(a) && "A", isSideRunning(b) && "B"].filter(Boolean);
  if (running.length === 0) return "";
  const verb = running.length === 1 ? "is" : "are";
  return `${running.join(" and ")} ${verb} still running. This page updates until the end.`;
}
