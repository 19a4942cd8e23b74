// Saves a file that the server makes. A link could not send the key of the page.
import { accessHeaders } from "./access";
import { asApiError } from "./client";

export async function download(path: string, parameters: Record<string, string>): Promise<void> {
  const response = await fetch(`${path}?${new URLSearchParams(parameters)}`, {
    headers: accessHeaders(),
  });
  if (!response.ok) throw asApiError(response.status, await response.json().catch(() => null));
  const named = /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = named?.[1] ?? "export";
  link.click();
  // A browser starts the download after the click returns.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
