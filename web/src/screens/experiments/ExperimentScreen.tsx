// One experiment: its request next to the original, its results, and its versions.
import { Navigate, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { Menu } from "../../components/Menu";
import { ErrorNotice, Loading } from "../../components/States";
import { Tabs } from "../../components/Tabs";
import { count } from "../../format/numbers";
import { Screen } from "../../shell/Screen";
import { useShortcut } from "../../shortcuts/ShortcutProvider";
import { visible } from "../../text/visible";
import type { ExperimentSearch, ExperimentTab } from "../searches";
import { DeleteDialog } from "./DeleteDialog";
import { HistoryPanel } from "./HistoryPanel";
import { LeaveDialog } from "./LeaveDialog";
import {
  type Experiment,
  type NewBatch,
  type SearchChange,
  useBatches,
  useExperiment,
  useStartBatch,
} from "./queries";
import { RequestPanel } from "./RequestPanel";
import { RunDialog } from "./RunDialog";
import { BatchState } from "./results/BatchBar";
import { ResultsPanel } from "./results/ResultsPanel";
import { type Editing, useDraft } from "./useDraft";
import { useExperimentTools } from "./useExperimentTools";
import { useFollowing } from "./useFollowing";

export function ExperimentScreen() {
  const { experimentId } = useParams({ from: "/experiments/$experimentId" });
  const found = useExperiment(experimentId);
  if (found.isPending) {
    return (
      <Screen title="Experiment">
        <Loading what="the experiment" />
      </Screen>
    );
  }
  if (found.isError) {
    return (
      <Screen title="Experiment">
        <ErrorNotice
          what="The experiment could not be read"
          error={found.error}
          onRetry={() => void found.refetch()}
        />
      </Screen>
    );
  }
  if (found.data.id !== experimentId) {
    // A prefix of an id, or LAST: the address changes to the complete id.
    return <Navigate to="." params={{ experimentId: found.data.id }} search={true} replace />;
  }
  return <Opened key={found.data.id} experiment={found.data} />;
}

function Opened({ experiment }: { experiment: Experiment }) {
  const search = useSearch({ from: "/experiments/$experimentId" });
  const onSearch = useSearchChange();
  const item = placeOf(search.item, experiment.items.length);
  const editing = useDraft(experiment, item);
  const batches = useBatches(experiment).data;
  const [running, run] = useState(false);
  const [deleting, remove] = useState(false);
  const navigate = useNavigate();
  const begin = useBegin(experiment, editing, onSearch);
  useFollowing(experiment.id);
  useExperimentTools({ experiment, batches, item, editing, search, onSearch });
  useShortcut(
    { keys: "Mod+Enter", does: "Run…", where: "Experiment", inFields: true },
    () => run(true),
    !running,
  );
  const tab = search.tab ?? "request";
  const show = (chosen: ExperimentTab) =>
    onSearch({ tab: chosen === "request" ? undefined : chosen });
  const last = batches.at(-1);
  const more = [{ id: "delete", name: "Delete…", danger: true, run: () => remove(true) }];
  return (
    <Screen
      title={visible(experiment.name)}
      about={<About experiment={experiment} changed={editing.changed} />}
      actions={
        <>
          {last?.state === "running" && (
            <>
              <BatchState state={last.state} /> {last.progress.done} of {last.progress.total}
            </>
          )}
          <Button kind="primary" keys="Mod+Enter" onPress={() => run(true)}>
            Run…
          </Button>
          <Menu label="More" actions={more} small={false} />
        </>
      }
      fill
    >
      <Tabs
        label="Parts of the experiment"
        value={tab}
        onChange={show}
        tabs={[
          {
            id: "request",
            name: editing.changed ? "Request ●" : "Request",
            content: <RequestPanel {...{ experiment, item, editing, search, onSearch }} />,
          },
          {
            id: "results",
            name: `Results ${count(batches.length)}`,
            content: (
              <ResultsPanel
                {...{ experiment, batches, item, search, onSearch }}
                onRun={() => run(true)}
              />
            ),
          },
          {
            id: "history",
            name: `Versions ${count(experiment.version)}`,
            content: (
              <HistoryPanel
                {...{ experiment, item, editing }}
                onCompare={(version) =>
                  onSearch({ tab: undefined, version: version ? String(version) : undefined })
                }
              />
            ),
          },
        ]}
      />
      <RunDialog {...{ experiment, editing }} isOpen={running} onOpenChange={run} onRun={begin} />
      <LeaveDialog editing={editing} />
      <DeleteDialog
        experiment={deleting ? experiment : null}
        onClose={() => remove(false)}
        onDeleted={() => void navigate({ to: "/experiments", ignoreBlocker: true })}
      />
    </Screen>
  );
}

function About({ experiment, changed }: { experiment: Experiment; changed: boolean }) {
  const { version, items } = experiment;
  return (
    <>
      <span>{version ? `v${version}` : "unchanged"}</span>
      <span>{items.length === 1 ? "1 call" : `${count(items.length)} calls`}</span>
      {changed && <Badge tone="accent">● unsaved</Badge>}
    </>
  );
}

/** Saves unsaved changes, starts the batch, and shows it. */
function useBegin(
  experiment: Experiment,
  editing: Editing,
  onSearch: (change: SearchChange) => void,
) {
  const starting = useStartBatch(experiment.id);
  return async (batch: NewBatch): Promise<void> => {
    if (editing.changed && (await editing.save("")) === null) {
      throw new Error("The unsaved changes could not be saved.");
    }
    await starting.mutateAsync(batch);
    onSearch({ tab: "results", batch: undefined, base: undefined, repeat: undefined });
  };
}

function useSearchChange(): (change: SearchChange) => void {
  const navigate = useNavigate({ from: "/experiments/$experimentId" });
  return (change) =>
    void navigate({
      search: (now) => ({ ...now, ...change }) as ExperimentSearch,
      replace: !("tab" in change),
    });
}

function placeOf(text: string | undefined, count: number): number {
  const place = Number(text ?? "0");
  return Number.isInteger(place) && place >= 0 && place < count ? place : 0;
}
