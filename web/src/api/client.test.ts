// An id that a browser would read as a step in the path never requests another resource.
import { expect, it, vi } from "vitest";
import { client, ok } from "./client";

it.each([".", ".."])("says that nothing has the id %s, and asks nothing", async (id) => {
  const asked = vi.spyOn(globalThis, "fetch");
  const held = client.GET("/api/v1/proposals/{reference}", {
    params: { path: { reference: id } },
  });
  await expect(ok(held)).rejects.toMatchObject({ status: 404 });
  expect(asked).not.toHaveBeenCalled();
});
