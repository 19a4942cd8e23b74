// Filters the current list by the labels in the server's state.
import type { QueryClient } from "@tanstack/react-query";
import type { AnyRouter } from "@tanstack/react-router";
import { client, ok } from "../api/client";
import { withLabels } from "../components/query/editing";
import { parsing } from "../components/query/queryText";
import { ADDRESS_OF, type View, viewAt } from "../components/query/views";

/** The query with these labels. The rest of it stays. */
export async function filterByLabels(
  router: AnyRouter,
  queries: QueryClient,
  asked: View | null | undefined,
): Promise<string[]> {
  const { pathname, search } = router.state.location as {
    pathname: string;
    search: { query?: string };
  };
  const view = asked ?? viewAt(pathname) ?? "runs"; // like the server
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
