// The one query client of the page. It does not repeat requests that the server refused.
import { QueryClient } from "@tanstack/react-query";
import { ApiError } from "./client";

const MOST_TRIES = 5;

export function newQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        gcTime: 60_000, // an hour of live traffic must not fill the memory
        refetchOnWindowFocus: false, // live events report what has changed
        retry: (failures, error) =>
          error instanceof ApiError && error.unreachable && failures < MOST_TRIES,
        retryDelay: (failures) => Math.min(500 * 2 ** failures, 5_000),
      },
    },
  });
}
