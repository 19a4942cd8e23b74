// The requests for groups.
import { expect, test, vi } from "vitest";
import { client } from "../../api/client";
import { readGroups } from "./readGroups";

test("without a chosen order, the order of the server applies", async () => {
  const get = vi.spyOn(client, "GET").mockResolvedValue({
    data: { data: [], pagination: { total: 0 } },
    response: new Response(),
  } as never);
  const asked = { query: "", by: "model", bucketSeconds: 3_600 } as const;
  const signal = new AbortController().signal;

  await readGroups({ ...asked, order: undefined }, null, signal);
  await readGroups({ ...asked, order: { sort: "cost", ascending: true } }, null, signal);

  const calls = get.mock.calls as unknown as [string, { params: { query: object } }][];
  expect(calls.map(([, { params }]) => params.query)).toEqual([
    { group_by: "model", limit: 500, offset: 0 },
    { group_by: "model", limit: 500, offset: 0, sort: "cost", ascending: true },
  ]);
});
