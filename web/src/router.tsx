// The addresses of the page. Each screen is loaded on first use.
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  retainSearchParams,
} from "@tanstack/react-router";
import type { DockSearch } from "./analyst/dock";
import * as searches from "./screens/searches";
import { beginSkeleton } from "./screens/trace/reading";
import { parseSearch, stringifySearch, text } from "./search";
import { CrashScreen, NotFoundScreen } from "./shell/Failures";
import { Root } from "./shell/Root";
import type { SourceSearch } from "./sources/address";
import { untilServed } from "./untilServed";

const root = createRootRoute({
  component: Root,
  validateSearch: (given: Record<string, unknown>): DockSearch & SourceSearch =>
    text(given, ["analyst", "source"]),
  search: { middlewares: [retainSearchParams(["analyst"])] },
  notFoundComponent: NotFoundScreen,
  errorComponent: CrashScreen,
});

const parent = () => root;

/** A screen that is loaded on first use. */
function screen<T extends Record<string, unknown>, Name extends keyof T>(
  load: () => Promise<T>,
  name: Name,
) {
  return lazyRouteComponent(() => untilServed(load), name);
}

const routes = [
  createRoute({
    getParentRoute: parent,
    path: "/",
    beforeLoad: () => {
      throw redirect({ to: "/threads", replace: true });
    },
  }),
  createRoute({
    getParentRoute: parent,
    path: "/threads",
    validateSearch: searches.threads,
    component: screen(() => import("./screens/threads/ThreadsScreen"), "ThreadsScreen"),
  }),
  createRoute({
    getParentRoute: parent,
    path: "/threads/$threadId",
    validateSearch: searches.thread,
    component: screen(() => import("./screens/threads/ThreadScreen"), "ThreadScreen"),
  }),
  createRoute({
    getParentRoute: parent,
    path: "/runs",
    validateSearch: searches.runs,
    component: screen(() => import("./screens/traces/RunsScreen"), "RunsScreen"),
  }),
  createRoute({
    getParentRoute: parent,
    path: "/runs/$runId",
    validateSearch: searches.run,
    component: screen(() => import("./screens/traces/RunScreen"), "RunScreen"),
  }),
  createRoute({
    getParentRoute: parent,
    path: "/traces",
    validateSearch: searches.spans,
    component: screen(() => import("./screens/traces/SpansScreen"), "SpansScreen"),
  }),
  // The list of spans is called so everywhere, so people enter this address.
  createRoute({
    getParentRoute: parent,
    path: "/spans",
    validateSearch: searches.spans,
    beforeLoad: ({ search }) => {
      throw redirect({ to: "/traces", search, replace: true });
    },
  }),
  createRoute({
    getParentRoute: parent,
    path: "/traces/$traceId",
    validateSearch: searches.trace,
    loader: ({ params, cause }) => {
      if (cause === "enter") beginSkeleton(params.traceId);
    },
    component: screen(() => import("./screens/trace/TraceScreen"), "TraceScreen"),
  }),
  createRoute({
    getParentRoute: parent,
    path: "/compare",
    validateSearch: searches.compare,
    component: screen(() => import("./screens/compare/CompareScreen"), "CompareScreen"),
  }),
  createRoute({
    getParentRoute: parent,
    path: "/experiments",
    component: screen(() => import("./screens/experiments/ExperimentsScreen"), "ExperimentsScreen"),
  }),
  createRoute({
    getParentRoute: parent,
    path: "/experiments/new",
    validateSearch: searches.newExperiment,
    component: screen(
      () => import("./screens/experiments/NewExperimentScreen"),
      "NewExperimentScreen",
    ),
  }),
  createRoute({
    getParentRoute: parent,
    path: "/experiments/$experimentId",
    validateSearch: searches.experiment,
    component: screen(() => import("./screens/experiments/ExperimentScreen"), "ExperimentScreen"),
  }),
  createRoute({
    getParentRoute: parent,
    path: "/analyst",
    component: screen(() => import("./analyst/AnalystScreen"), "AnalystScreen"),
  }),
  createRoute({
    getParentRoute: parent,
    path: "/sessions",
    component: screen(() => import("./screens/sessions/SessionsScreen"), "SessionsScreen"),
  }),
  createRoute({
    getParentRoute: parent,
    path: "/sessions/$sessionId",
    component: screen(() => import("./screens/sessions/SessionScreen"), "SessionScreen"),
  }),
  createRoute({
    getParentRoute: parent,
    path: "/proposals",
    validateSearch: searches.proposals,
    component: screen(() => import("./screens/proposals/ProposalsScreen"), "ProposalsScreen"),
  }),
  createRoute({
    getParentRoute: parent,
    path: "/proposals/$proposalId",
    component: screen(() => import("./screens/proposals/ProposalScreen"), "ProposalScreen"),
  }),
  createRoute({
    getParentRoute: parent,
    path: "/breakpoints",
    validateSearch: searches.breakpoints,
    component: screen(() => import("./screens/breakpoints/BreakpointsScreen"), "BreakpointsScreen"),
  }),
  createRoute({
    getParentRoute: parent,
    path: "/tools",
    validateSearch: searches.tools,
    component: screen(() => import("./screens/tools/ToolsScreen"), "ToolsScreen"),
  }),
  createRoute({
    getParentRoute: parent,
    path: "/models",
    validateSearch: searches.models,
    component: screen(() => import("./screens/models/ModelsScreen"), "ModelsScreen"),
  }),
  createRoute({
    getParentRoute: parent,
    path: "/settings",
    validateSearch: searches.settings,
    component: screen(() => import("./screens/settings/SettingsScreen"), "SettingsScreen"),
  }),
] as const;

export function newRouter() {
  return createRouter({
    routeTree: root.addChildren(routes),
    parseSearch,
    stringifySearch,
    defaultPreload: "intent",
    scrollRestoration: true,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof newRouter>;
  }
}
