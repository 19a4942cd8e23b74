// Late parts wait for the server, and fail only if the server no longer has them.
import { afterEach, expect, it, vi } from "vitest";
import { untilServed } from "./untilServed";

afterEach(() => vi.restoreAllMocks());

it("loads again until the server is there", async () => {
  vi.spyOn(globalThis, "fetch").mockRejectedValue(new TypeError("Failed to fetch"));
  const load = vi.fn<() => Promise<string>>();
  load.mockRejectedValueOnce(new TypeError("Failed to fetch")).mockResolvedValue("the screen");
  await expect(untilServed(load)).resolves.toBe("the screen");
  expect(load).toHaveBeenCalledTimes(2);
});

it("fails where the server answers", async () => {
  vi.spyOn(globalThis, "fetch").mockResolvedValue(new Response());
  await expect(untilServed(() => Promise.reject(new Error("gone")))).rejects.toThrow("gone");
});
