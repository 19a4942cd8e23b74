// The data of the settings screen, which changes nothing.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { client, ok } from "../../api/client";

export function useSettings() {
  return useQuery({
    queryKey: ["settings"],
    queryFn: ({ signal }) => ok(client.GET("/api/v1/settings", { signal })),
    staleTime: 60_000, // read at the start of the server
  });
}

export function useHealth() {
  return useQuery({
    queryKey: ["health"],
    queryFn: ({ signal }) => ok(client.GET("/api/v1/health", { signal })),
    refetchInterval: 10_000,
  });
}

export function useRetention() {
  return useQuery({
    queryKey: ["retention"],
    queryFn: ({ signal }) => ok(client.GET("/api/v1/retention", { signal })),
  });
}

export interface Limits {
  keep?: string;
  max_size?: string;
}

export function useRetentionPreview(limits: Limits | null) {
  return useQuery({
    queryKey: ["retention", "preview", limits],
    queryFn: ({ signal }) =>
      ok(client.GET("/api/v1/retention/preview", { params: { query: limits ?? {} }, signal })),
    enabled: limits !== null,
    placeholderData: keepPreviousData,
  });
}

export interface Tried {
  pattern: string;
  limit: number;
}

export function useRedactionPreview(tried: Tried | null) {
  return useQuery({
    queryKey: ["redaction", "preview", tried],
    queryFn: ({ signal }) => {
      const query = tried ?? { pattern: "", limit: 1 };
      return ok(client.GET("/api/v1/redaction/preview", { params: { query }, signal }));
    },
    enabled: tried !== null,
  });
}
