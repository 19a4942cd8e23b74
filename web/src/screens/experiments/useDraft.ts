// The edited request: kept in the tab, checked while typing, saved as a new version.
import { useCallback, useEffect, useReducer, useRef, useState } from "react";
import { ApiError } from "../../api/client";
import { type Experiment, useProblems, useSave } from "./queries";
import {
  type Draft,
  type DraftAction,
  isChanged,
  newDraft,
  nextDraft,
  ownProblems,
  type Problem,
  patchOf,
} from "./request/draft";
import type { JsonObject } from "./request/json";
import { patched } from "./request/mergePatch";
import { requestAt, type Versioned } from "./request/versions";

const CALM_MS = 300;

export interface Editing {
  draft: Draft;
  dispatch: (action: DraftAction) => void;
  changed: boolean;
  /** The patch to send when saving. */
  patch: JsonObject;
  /** All known errors. */
  problems: readonly Problem[];
  /** Why the check or the save failed. */
  error: unknown;
  saving: boolean;
  /** Saves a new version; returns its number, or null if that is not possible. */
  save: (note: string) => Promise<number | null>;
  /** The state after the last action, for code outside of a render. */
  newest: () => Draft;
  /**
   * Takes over the server's state. Whether it conflicts with unsaved changes is part of the state.
   */
  receive: (experiment: Experiment) => Draft;
}

export function useDraft(experiment: Experiment, item: number): Editing {
  const versioned = asVersioned(experiment);
  const [draft, react] = useReducer(nextDraft, null, () =>
    newDraft(experiment.version, requestAt(versioned, item, experiment.version)),
  );
  const state = useRef(draft);
  const dispatch = useCallback((action: DraftAction) => {
    state.current = nextDraft(state.current, action);
    react(action);
  }, []);
  const shownItem = useRef(item);
  const receive = (newer: Experiment): Draft => {
    const told = asVersioned(newer);
    if (shownItem.current !== item) {
      shownItem.current = item;
      const base = requestAt(told, item, state.current.version);
      dispatch({ type: "show", base, request: patched(base, patchOf(state.current)) });
    }
    const request = requestAt(told, item, newer.version);
    dispatch({ type: "received", version: newer.version, request });
    return state.current;
  };
  const latest = useRef(receive);
  useEffect(() => {
    latest.current = receive;
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another item has another request
  useEffect(() => {
    latest.current(experiment);
  }, [experiment, item]);

  const changed = isChanged(draft);
  const patch = patchOf(draft);
  const own = ownProblems(draft);
  const asked = useCalm(patch, CALM_MS);
  const checks = changed && own.length === 0 && Object.keys(asked).length > 0;
  const check = useProblems(experiment.id, draft.version, asked, checks);
  const saving = useSave(experiment.id);
  const refused = problemsIn(saving.error);
  const found = checks ? (check.data?.problems ?? []) : [];
  const save = async (note: string): Promise<number | null> => {
    const current = state.current;
    if (!isChanged(current) || current.clash || ownProblems(current).length) return null;
    const saved = await saving.mutateAsync({ patch: patchOf(current), note }).catch(() => null);
    if (saved === null) return null;
    const request = requestAt(asVersioned(saved), item, saved.version);
    dispatch({ type: "saved", sent: current.request, version: saved.version, request });
    return saved.version;
  };
  return {
    draft,
    dispatch,
    changed,
    patch,
    problems: [...own, ...found.filter((each) => !own.some((mine) => mine.field === each.field))],
    error: refused ? null : (saving.error ?? (checks ? check.error : null)),
    saving: saving.isPending,
    save,
    newest: () => state.current,
    receive,
  };
}

/** The recorded and current requests are JSON, which the OpenAPI document only calls objects. */
export function asVersioned(experiment: Experiment): Versioned {
  return experiment as unknown as Versioned;
}

function problemsIn(error: unknown): Problem[] | null {
  if (!(error instanceof ApiError)) return null;
  const told = (error.body as { error?: { problems?: Problem[] } } | null)?.error?.problems;
  return told ?? null;
}

/** A value after it has not changed for a while. */
function useCalm<T extends object>(value: T, wait: number): T {
  const [calm, become] = useState(value);
  const text = JSON.stringify(value);
  useEffect(() => {
    const timer = setTimeout(() => become(JSON.parse(text) as T), wait);
    return () => clearTimeout(timer);
  }, [text, wait]);
  return calm;
}
