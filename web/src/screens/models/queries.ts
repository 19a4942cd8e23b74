// Providers and models of the server. API keys are only sent, never read.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, ok } from "../../api/client";

const PROVIDERS = ["providers"] as const;
const MODELS = ["models"] as const;

export function useProviders() {
  return useQuery({
    queryKey: PROVIDERS,
    queryFn: ({ signal }) => ok(client.GET("/api/v1/providers", { signal })),
  });
}

export function useModels() {
  return useQuery({
    queryKey: MODELS,
    queryFn: ({ signal }) => ok(client.GET("/api/v1/models", { signal })),
    staleTime: 60_000, // every provider is asked
  });
}

export function usePrice(model: string, provider: string) {
  return useQuery({
    queryKey: ["prices", provider, model],
    queryFn: ({ signal }) =>
      ok(client.GET("/api/v1/prices", { params: { query: { model, provider } }, signal })),
    staleTime: 60_000,
  });
}

export function useTest(name: string) {
  return useMutation({
    mutationFn: (model: string | null) =>
      ok(
        client.POST("/api/v1/providers/{name}/test", {
          params: { path: { name } },
          body: { model, seconds: 60 },
        }),
      ),
  });
}

export function useKey(name: string) {
  const queries = useQueryClient();
  const params = { path: { name } };
  return useMutation({
    // The key is not a variable of the mutation: those are kept for a while.
    mutationFn: async (how: { take: () => string } | "delete") => {
      if (how === "delete") {
        await ok(client.DELETE("/api/v1/providers/{name}/key", { params }));
        return;
      }
      await ok(client.PUT("/api/v1/providers/{name}/key", { params, body: { key: how.take() } }));
    },
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: PROVIDERS }),
        queries.invalidateQueries({ queryKey: MODELS }),
      ]),
  });
}
