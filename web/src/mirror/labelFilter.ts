// Shows a list filtered by the labels that the server's state has for it, on whatever screen one is.
import type { QueryClient } from "@tanstack/react-query";
import type { AnyRouter } from "@tanstack/react-router";
import { client, ok } from "../api/client";
import { withLabels } from "../components/query/editing";
import { parsing } from "../components/query/queryText";
import { ADDRESS_OF, type View, viewAt } from "../components/query/views";

/** The labels that the list is filtered by then. The rest of its query stays. */
export async function filterByLabels(
  router: AnyRouter,
  queries: QueryClient,
  asked: View | null | undefined,
): Promise<string[]> {
  const { pathname, search } = router.state.location as {
    pathname: string;
    search: { query?: string };
  };
  const view = asked ?? viewAt(pathname) ?? "runs"; // as the server does
  const isHere = pathname === ADDRESS_OF[view];
  const text = isHere ? (search.query ?? "") : "";
  const [state, { terms }] = await Promise.all([
    ok(client.GET("/api/v1/ui")),
    queries.ensureQueryData(parsing(text)),
  ]);
  const labels = state.label_filters[view] ?? [];
  const query = withLabels(text, terms, labels) || undefined;
  await router.navigate({
    to: ADDRESS_OF[view],
    search: { ...(isHere ? search : {}), query },
  } as never);
  return labels;
}
