// The data of the experiment screens, and how it stays fresh.
import {
  keepPreviousData,
  type QueryClient,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { client, ok } from "../../api/client";
import type { components } from "../../api/schema";
import type { ExperimentSearch } from "../searches";

type Schemas = components["schemas"];
export type Experiment = Schemas["ExperimentWithBatches"];
export type Listed = Schemas["ListedExperiment"];
export type Item = Schemas["ExperimentItem"];
export type Outcome = Schemas["Outcome"];
export type Run = Schemas["ExperimentRun"];
export type Batch = Schemas["Batch"];
export type BatchWithRuns = Schemas["BatchWithRuns"];
export type Comparison = Schemas["Comparison"];
export type VariantComparison = Schemas["VariantComparison"];
export type Difference = Schemas["Difference"];
export type NewBatch = Schemas["NewBatch"];

/** Changed parameters of the address; undefined removes one. */
export type SearchChange = {
  [name in keyof ExperimentSearch]?: ExperimentSearch[name] | undefined;
};

const PAGE = 50;
const LOOK_MS = 2_000; // many progress events may be dropped

export const keys = {
  list: ["experiments"] as const,
  one: (id: string) => ["experiment", id] as const,
  batches: (id: string) => ["experiment", id, "batches"] as const,
  batch: (id: string, batch: string) => ["experiment", id, "batch", batch] as const,
};

export function useExperiments() {
  return useInfiniteQuery({
    queryKey: keys.list,
    queryFn: ({ pageParam, signal }) =>
      ok(
        client.GET("/api/v1/experiments", {
          params: { query: { limit: PAGE, offset: pageParam } },
          signal,
        }),
      ),
    initialPageParam: 0,
    getNextPageParam: ({ pagination }) => {
      const next = pagination.offset + pagination.limit;
      return next < pagination.total ? next : undefined;
    },
  });
}

function readExperiment(reference: string, signal?: AbortSignal): Promise<Experiment> {
  const params = { path: { reference } };
  return ok(client.GET("/api/v1/experiments/{reference}", { params, ...(signal && { signal }) }));
}

export function useExperiment(reference: string) {
  return useQuery({
    queryKey: keys.one(reference),
    queryFn: ({ signal }) => readExperiment(reference, signal),
  });
}

/** The batches, oldest first; see `useFollowing`. */
export function useBatches(experiment: Experiment) {
  const { id, batches } = experiment;
  return useQuery({
    queryKey: keys.batches(id),
    queryFn: async ({ signal }) => {
      const params = { path: { reference: id } };
      const told = await ok(
        client.GET("/api/v1/experiments/{reference}/batches", { params, signal }),
      );
      return told.data;
    },
    initialData: batches,
    refetchInterval: (query) => (query.state.data?.some(isRunning) ? LOOK_MS : false),
  });
}

function isRunning(batch: Batch): boolean {
  return batch.state === "running";
}

/** A batch with its runs, read again when more of them are done. */
export function useRuns(experimentId: string, batch: Batch) {
  const path = { reference: experimentId, batch_reference: batch.id };
  const queryKey = [...keys.batch(experimentId, batch.id), "runs"];
  useReadingAgain(queryKey, batch);
  return useQuery({
    queryKey,
    queryFn: ({ signal }) =>
      ok(
        client.GET("/api/v1/experiments/{reference}/batches/{batch_reference}", {
          params: { path },
          signal,
        }),
      ),
    staleTime: 0,
  });
}

export function useComparison(experimentId: string, batch: Batch, base: string | undefined) {
  const path = { reference: experimentId, batch_reference: batch.id };
  const queryKey = [...keys.batch(experimentId, batch.id), "comparison", base ?? ""];
  useReadingAgain(queryKey, batch);
  return useQuery({
    queryKey,
    queryFn: ({ signal }) =>
      ok(
        client.GET("/api/v1/experiments/{reference}/batches/{batch_reference}/comparison", {
          params: { path, query: base ? { base } : {} },
          signal,
        }),
      ),
    enabled: batch.progress.done > 0,
    staleTime: 0,
    placeholderData: keepPreviousData,
  });
}

/** Changes when the batch has other runs. */
function useReadingAgain(queryKey: readonly string[], { id, state, progress }: Batch): void {
  const queries = useQueryClient();
  const stamp = `${id} ${state} ${progress.done} ${progress.failed} ${progress.tokens}`;
  const last = useRef({ key: queryKey.join(" "), stamp });
  useEffect(() => {
    const key = queryKey.join(" ");
    const isOther = last.current.key === key && last.current.stamp !== stamp;
    last.current = { key, stamp };
    if (isOther) void queries.invalidateQueries({ queryKey });
  }, [queries, queryKey, stamp]);
}

/** The errors after a change, without making it. */
export function useProblems(id: string, version: number, patch: object, enabled: boolean) {
  return useQuery({
    queryKey: [...keys.one(id), "check", version, JSON.stringify(patch)],
    queryFn: ({ signal }) =>
      ok(
        client.POST("/api/v1/experiments/{reference}/check", {
          params: { path: { reference: id } },
          body: { data: patch as Record<string, unknown>, note: "" },
          signal,
        }),
      ),
    enabled,
    placeholderData: keepPreviousData,
  });
}

export interface Save {
  patch: object;
  note: string;
}

export function useSave(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ patch, note }: Save) =>
      ok(
        client.PATCH("/api/v1/experiments/{reference}", {
          params: { path: { reference: id } },
          body: { data: patch as Record<string, unknown>, note },
        }),
      ),
    onSuccess: () => refreshed(queries, id),
  });
}

export function useStartBatch(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: NewBatch) =>
      ok(
        client.POST("/api/v1/experiments/{reference}/batches", {
          params: { path: { reference: id } },
          body,
        }),
      ),
    onSuccess: () => refreshed(queries, id),
  });
}

export function useCancelBatch(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (batch: string) =>
      ok(
        client.POST("/api/v1/experiments/{reference}/batches/{batch_reference}/cancel", {
          params: { path: { reference: id, batch_reference: batch } },
        }),
      ),
    onSuccess: () => refreshed(queries, id),
  });
}

export function useResumeBatch(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ batch, retryFailed }: { batch: string; retryFailed: boolean }) =>
      ok(
        client.POST("/api/v1/experiments/{reference}/batches/{batch_reference}/resume", {
          params: { path: { reference: id, batch_reference: batch } },
          body: { retry_failed: retryFailed },
        }),
      ),
    onSuccess: () => refreshed(queries, id),
  });
}

export function useDelete() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: string) =>
      ok(
        client.DELETE("/api/v1/experiments/{reference}", {
          params: { path: { reference: id } },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: keys.list }),
  });
}

/** Reads an experiment and its batches again, and waits for both. */
export async function refreshed(queries: QueryClient, id: string): Promise<void> {
  await Promise.all([
    queries.invalidateQueries({ queryKey: keys.one(id), exact: true }),
    queries.invalidateQueries({ queryKey: keys.batches(id), exact: true }),
    queries.invalidateQueries({ queryKey: keys.list, refetchType: "none" }),
  ]);
}
