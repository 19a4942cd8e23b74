// The page's side of the state on the server: it reports where a person is, and acts on requests
// of the server's tools. See docs/ui.md.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter, useRouterState } from "@tanstack/react-router";
import { createContext, type ReactNode, useCallback, useContext, useEffect, useRef } from "react";
import { client, ok } from "../api/client";
import type { Shown, UiChange } from "../api/schema";
import { type Notice, useNotices } from "../components/Notices";
import { useLiveEvents } from "../live/LiveProvider";
import { type Handler, Handlers, type UiAnswer, type UiRequest } from "./handlers";
import { filterByLabels } from "./labelFilter";
import { pageId } from "./pageId";

const MirrorContext = createContext<Handlers | null>(null);
const STATE = ["ui"] as const;

export function MirrorProvider({ children }: { children: ReactNode }) {
  const handlers = useRef(new Handlers()).current;
  useSaidLocation();
  useFollowing(handlers);
  return <MirrorContext value={handlers}>{children}</MirrorContext>;
}

/** Reports the current screen after each change. */
function useSaidLocation(): void {
  // For an unknown screen it reports the root, since the server rejects other addresses.
  const location = useRouterState({
    select: ({ matches, location }) => (matches.length > 1 ? location.href : null),
  });
  const change = useUiChange();
  useEffect(() => {
    if (location === null) return;
    // The server accepts no quotes; the router leaves them unescaped in ids.
    const plain = location.replaceAll("'", "%27");
    void change({ location: plain.slice(0, 2_000) }).catch(() => {});
  }, [location, change]);
}

/** Acts on a request to this page, and answers. */
function useFollowing(handlers: Handlers): void {
  const router = useRouter();
  const queries = useQueryClient();
  const { tell } = useNotices();
  useEffect(() => {
    const go = (url: string) => router.navigate({ href: url });
    const stops = [
      handlers.add("get_collapsed_spans", async () => {
        const shown = await ok(client.GET("/api/v1/ui"));
        return { collapsedSpanIds: shown.collapsed_span_ids };
      }),
      handlers.add("navigate_to", async (request) => {
        await go(request.url);
        return { success: true };
      }),
      handlers.add("apply_label_filter", async (request) => ({
        success: true,
        applied_labels: await filterByLabels(router, queries, request.view),
      })),
      handlers.add("navigate_to_experiment", async (request) => {
        await go(request.url);
        return { success: true };
      }),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }, [handlers, router, queries]);
  useLiveEvents(["UiChanged", "UiRequested"], (event) => {
    if (event.type === "UiChanged" && event.by !== pageId()) {
      void queries.invalidateQueries({ queryKey: STATE });
    }
    if (event.type !== "UiRequested" || event.page !== pageId()) return;
    const request = event.request as UiRequest;
    void handlers.answer(request).then(async (answer) => {
      if (answer === null) return;
      const notice = toldOf(request, answer, () => router.history.back());
      if (notice) tell(notice);
      await ok(
        client.POST("/api/v1/ui/requests/{ui_id}/answer", {
          params: { path: { ui_id: String(event.ui_id) } },
          body: answer,
        }),
      ).catch(() => {}); // too late: the server has continued without it
    });
  });
}

const DID: Partial<Record<UiRequest["type"], string>> = {
  navigate_to: "opened this screen",
  navigate_to_experiment: "opened an experiment with this call",
  apply_experiment_data: "changed this experiment",
  run_experiment: "ran this experiment",
  apply_label_filter: "changed the label filter",
};

/** The notice for a person when a tool acts on the page; null if it only reads. */
function toldOf(request: UiRequest, answer: UiAnswer, back: () => void): Notice | null {
  const did = DID[request.type];
  if (!did || !("success" in answer)) return null;
  if (!answer.success) {
    const why = answer.error ? `: ${answer.error}` : ".";
    return { kind: "bad", text: `A tool (${request.type}) could not act on this page${why}` };
  }
  const went = request.type.startsWith("navigate_to");
  return {
    kind: "info",
    text: `A tool ${did}.`,
    ...(went ? { action: { label: "Back", run: back } } : {}),
  };
}

/** Handles requests of the server's tools to this page, as long as the component is shown. */
export function useUiHandler<T extends UiRequest["type"]>(type: T, handle: Handler<T>): void {
  const handlers = useContext(MirrorContext);
  if (!handlers) throw new Error("MirrorProvider is missing");
  const newest = useRef(handle);
  useEffect(() => {
    newest.current = handle;
  });
  useEffect(() => handlers.add(type, (request) => newest.current(request)), [handlers, type]);
}

/** The state on the server; null until it is read. */
export function useUiState(): Shown | null {
  const state = useQuery({
    queryKey: STATE,
    queryFn: ({ signal }) => ok(client.GET("/api/v1/ui", { signal })),
    staleTime: Number.POSITIVE_INFINITY, // UiChanged reports changes
  });
  return state.data ?? null;
}

/** Reports what a person has changed on this page. */
export function useUiChange(): (change: Omit<UiChange, "page">) => Promise<void> {
  const queries = useQueryClient();
  return useCallback(
    async (change) => {
      const shown = await ok(
        client.PATCH("/api/v1/ui", { body: { ...change, page: pageId() } as UiChange }),
      );
      queries.setQueryData(STATE, shown);
    },
    [queries],
  );
}
