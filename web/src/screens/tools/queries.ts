// The tools, their statistics, and the request that calls one.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, ok } from "../../api/client";
import { RECORDED } from "../../live/events";
import { useLiveRefresh } from "../../live/useLiveRefresh";
import type { Json } from "./form/fields";

const STATISTICS = ["tools", "statistics"] as const;

export function useTools() {
  return useQuery({
    queryKey: ["tools"],
    queryFn: ({ signal }) => ok(client.GET("/api/v1/tools", { signal })),
  });
}

export function useStatistics() {
  const queries = useQueryClient();
  useLiveRefresh(
    RECORDED,
    () => queries.invalidateQueries({ queryKey: STATISTICS }),
    true,
    () => true,
    3_000,
  );
  return useQuery({
    queryKey: STATISTICS,
    queryFn: async ({ signal }) => {
      const found = await ok(client.GET("/api/v1/tools/statistics", { signal }));
      return new Map(found.data.map((each) => [each.name, each]));
    },
  });
}

export function useCall(name: string) {
  return useMutation({
    mutationFn: async (given: Json) => {
      const began = performance.now();
      const body = given as Record<string, never>;
      const params = { path: { name } };
      const result = await ok(client.POST("/api/v1/tools/{name}/call", { params, body }));
      return { result: result as unknown, took: performance.now() - began };
    },
  });
}
