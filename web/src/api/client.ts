// The typed client of the server's API, and the one form in which screens receive its errors.
import createClient, { defaultPathSerializer } from "openapi-fetch";
import { accessHeaders } from "./access";
import type { paths } from "./schema";

export const client = createClient<paths>({
  baseUrl: "/",
  headers: { "x-treadle-page": "1" },
  pathSerializer: pathWith,
});

client.use({
  onRequest({ request }) {
    for (const [name, value] of Object.entries(accessHeaders())) request.headers.set(name, value);
  },
});

/** An error that the server reported, or that it is not reachable. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly hint: string | null,
    /** 0 if there was no answer. */
    readonly status: number,
    readonly body: unknown = null,
  ) {
    super(message);
    this.name = "ApiError";
  }

  get unreachable(): boolean {
    return this.status === 0;
  }
}

/** Whether the server does not, or no longer, have the resource. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** A browser reads "." and ".." as steps in the path, which would request another resource. */
function pathWith(path: string, ids: Record<string, unknown>): string {
  for (const id of Object.values(ids)) {
    if (id === "." || id === "..")
      throw new ApiError(`There is nothing with the id '${id}'.`, null, 404);
  }
  return defaultPathSerializer(path, ids);
}

type Answer<T> = { data?: T; error?: unknown; response: Response };

/** The data of an answer. Throws ApiError for every error answer, and if there is no answer. */
export async function ok<T>(asking: Promise<Answer<T>>): Promise<T> {
  let answer: Answer<T>;
  try {
    answer = await asking;
  } catch (error) {
    throw unreachable(error);
  }
  if (!answer.response.ok) throw asApiError(answer.response.status, answer.error);
  return answer.data as T;
}

/** The JSON at an address of the server whose path the typed client cannot express. */
export async function getJson<T>(address: string, signal?: AbortSignal): Promise<T> {
  let response: Response;
  try {
    response = await fetch(address, { headers: accessHeaders(), ...(signal ? { signal } : {}) });
  } catch (error) {
    throw unreachable(error);
  }
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) throw asApiError(response.status, body);
  return body as T;
}

function unreachable(error: unknown): unknown {
  if (error instanceof ApiError) return error;
  if (error instanceof DOMException && error.name === "AbortError") return error;
  return new ApiError(
    "The server does not answer.",
    "Is `treadle serve` still running? The page retries automatically.",
    0,
  );
}

export function asApiError(status: number, body: unknown): ApiError {
  const told = (body as { error?: unknown } | null)?.error;
  if (typeof told === "string") {
    // The failure of a tool: `{"ok": false, "error", "hint"}`.
    return new ApiError(told, textOf((body as { hint?: unknown }).hint), status, body);
  }
  const error = told as { message?: unknown; hint?: unknown } | undefined;
  const message = textOf(error?.message) ?? `The server answered ${status}.`;
  return new ApiError(message, textOf(error?.hint), status, body);
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
