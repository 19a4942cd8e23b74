// What the analyst's tools do on an open experiment: read it, change it, and run it.
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { client, ok } from "../../api/client";
import { useUiChange, useUiHandler } from "../../mirror/MirrorProvider";
import type { ExperimentSearch } from "../searches";
import { type Batch, type Experiment, keys, refreshed, type SearchChange } from "./queries";
import { type Json, type JsonObject, same } from "./request/json";
import { toldResults } from "./results/figures";
import { chosenBatch } from "./results/ResultsPanel";
import type { Editing } from "./useDraft";

interface Opened {
  experiment: Experiment;
  batches: readonly Batch[];
  item: number;
  editing: Editing;
  search: ExperimentSearch;
  onSearch: (change: SearchChange) => void;
}

const JUST_NOW_US = 15_000_000;

export function useExperimentTools(opened: Opened): void {
  const { experiment, batches, item, editing, search, onSearch } = opened;
  const queries = useQueryClient();
  const { id } = experiment;
  useSaidExperiment(id);

  /** The current values: the page learns of a change later than its author. */
  const newest = async (): Promise<{ experiment: Experiment; batches: Batch[] }> => {
    await refreshed(queries, id);
    const read = queries.getQueryData<Experiment>(keys.one(id));
    const ran = queries.getQueryData<Batch[]>(keys.batches(id));
    return { experiment: read ?? experiment, batches: ran ?? [...batches] };
  };

  useUiHandler("get_experiment_data", async () => {
    const batch = (await newest()).batches.at(-1);
    const found = batch?.progress.done ? await runsOf(id, batch) : null;
    const own = found?.runs.filter((run) => run.item === item && run.error === null).at(-1);
    return {
      experimentData: editing.newest().request as never,
      originalExperimentData: (experiment.items[item]?.original ?? null) as never,
      result: own ? ({ content: own.content, model: own.model, cost: own.cost } as never) : null,
      running: batch?.state === "running",
    };
  });

  useUiHandler("evaluate_experiment_results", async () => {
    const batch = chosenBatch((await newest()).batches, search.batch);
    if (!batch?.progress.done) return { hasResults: false };
    const path = { reference: id, batch_reference: batch.id };
    const [comparison, found] = await Promise.all([
      ok(
        client.GET("/api/v1/experiments/{reference}/batches/{batch_reference}/comparison", {
          params: { path, query: search.base ? { base: search.base } : {} },
        }),
      ),
      runsOf(id, batch),
    ]);
    return toldResults(comparison, found.runs, experiment.items) as never;
  });

  useUiHandler("apply_experiment_data", async (request) => {
    const now = (await newest()).experiment;
    const last = now.versions.at(-1);
    const applied = last && same(last.patch as JsonObject, request.data as unknown as Json);
    if (!applied) throw new Error("A different experiment was changed, not the open one.");
    const draft = editing.receive(now);
    onSearch({ tab: undefined });
    if (!draft.clash) return { success: true };
    throw new Error(
      `Version ${draft.clash.version} is saved, but the person here has unsaved changes of ` +
        `${draft.clash.paths.slice(0, 5).join(", ")}. Those were kept.`,
    );
  });

  useUiHandler("run_experiment", async () => {
    const now = await newest();
    const batch = now.batches.at(-1);
    if (!batch || batch.created_us < Date.now() * 1_000 - JUST_NOW_US) {
      throw new Error("A different experiment was started, not the open one.");
    }
    onSearch({ tab: "results", batch: undefined, base: undefined, repeat: undefined });
    const { state, progress, variants } = batch;
    return { success: true, result: { batchId: batch.id, state, progress, variants } as never };
  });
}

function runsOf(id: string, batch: Batch) {
  return ok(
    client.GET("/api/v1/experiments/{reference}/batches/{batch_reference}", {
      params: { path: { reference: id, batch_reference: batch.id } },
    }),
  );
}

/** Reports which experiment is open, as long as it is. */
function useSaidExperiment(id: string): void {
  const change = useUiChange();
  const said = useRef(change);
  useEffect(() => {
    const say = said.current;
    void say({ experiment_id: id }).catch(() => {});
    return () => void say({ experiment_id: null }).catch(() => {});
  }, [id]);
}
