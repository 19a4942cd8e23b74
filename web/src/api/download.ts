// Saves a file that the server makes. The browser writes it to the disk as it arrives, so its size
// does not matter.
import { accessHeaders } from "./access";
import { asApiError, client, ok } from "./client";

export type Parameters = Record<string, string> | [string, string][];

export async function download(path: string, parameters: Parameters): Promise<void> {
  const query = new URLSearchParams(parameters).toString();
  const target = query ? `${path}?${query}` : path;
  // Read first, because a failed download of a browser states no reason.
  const response = await fetch(target, { headers: accessHeaders() });
  if (!response.ok) throw asApiError(response.status, await response.json().catch(() => null));
  await response.body?.cancel();
  // The browser cannot send the key of the page with a link.
  const link = document.createElement("a");
  link.href = (await ok(client.POST("/api/v1/exports/links", { body: { path: target } }))).path;
  link.download = "";
  link.click();
}
