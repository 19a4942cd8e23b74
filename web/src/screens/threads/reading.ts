// The messages of a run, from the requests and replies of its model calls.
import { type QueryClient, queryOptions } from "@tanstack/react-query";
import { client, getJson, ok } from "../../api/client";
import type { ListedSpan, RunSummary, SpanContent } from "../../api/schema";
import { type MarkedText, textBytes, unmarked, wholeValue } from "../../components/messages/blobs";
import { isObject, messagesInText, parsed } from "../../components/messages/chat";
import { type Message, textMessage } from "../../components/messages/message";
import { type Call, merged, repeatsAnswers } from "./merging";

export interface Said extends Call {
  /** Why its last call failed. */
  error: string | null;
  /** What is not shown, and why. */
  left: string | null;
}

const MOST_CALLS = 20;
const MOST_BYTES = 2_000_000;

/** The messages of a run. They are read again when the run has progressed. */
export function saidIn(run: RunSummary, queries: QueryClient) {
  return queryOptions({
    queryKey: ["said", run.run_id, run.last_us, run.sums.spans, run.status],
    queryFn: ({ signal }) => readRun(run, queries, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

async function readRun(run: RunSummary, queries: QueryClient, signal: AbortSignal): Promise<Said> {
  const asked = { run_ids: [run.run_id], kind: ["model" as const], limit: MOST_CALLS };
  const page = await ok(client.GET("/api/v1/spans", { params: { query: asked }, signal }));
  const calls = page.data.filter((call) => call.counted);
  const [last, ...earlier] = calls;
  if (!last) return withoutCalls(run);
  const newest = await readCall(last, queries, signal);
  const isWhole = repeatsAnswers(newest.request) && hasQuestion(newest.request, run.question);
  if (earlier.length === 0 || newest.left || isWhole) return { ...newest, error: last.error };
  // Requests that contain only new messages, or only those of one agent of several.
  const others = await Promise.all(earlier.map((call) => readCall(call, queries, signal)));
  const inOrder = [newest, ...others].toReversed();
  const left = page.pagination.next_cursor
    ? `Only its last ${MOST_CALLS} model calls are shown.`
    : (others.find((call) => call.left)?.left ?? null);
  return { ...merged(inOrder), error: last.error, left };
}

const COMPARED = 80;

/** Whether a message of a person begins as the question of the run does, of which spaces differ. */
function hasQuestion(request: readonly Message[], question: string | null): boolean {
  const wanted = inShort(question ?? "");
  return request.some(
    ({ role, parts }) =>
      role === "user" &&
      parts.some((part) => part.kind === "text" && inShort(part.text).startsWith(wanted)),
  );
}

function inShort(text: string): string {
  return text.trim().replaceAll(/\s+/g, " ").slice(0, COMPARED);
}

/** A run without a model call has the input and output of its root. */
function withoutCalls(run: RunSummary): Said {
  const request = run.question ? [textMessage("input", run.question)] : [];
  const reply = run.answer ? [textMessage("output", run.answer)] : [];
  return { request, reply, error: null, left: null };
}

async function readCall(
  call: ListedSpan,
  queries: QueryClient,
  signal: AbortSignal,
): Promise<Omit<Said, "error">> {
  const address = [call.trace_id, call.span_id].map(encodeURIComponent).join("/");
  const content = await getJson<SpanContent>(`/api/v1/spans/${address}`, signal);
  const input = await sideOf(content, "input", call, queries);
  const output = await sideOf(content, "output", call, queries);
  const isLeft = input === "too large" || output === "too large";
  return {
    request: input && input !== "too large" ? messagesInText(input, "user") : [],
    reply: output && output !== "too large" ? replyIn(output, call) : [],
    left: isLeft ? "A part is too large to show here. Its trace has it." : null,
  };
}

/** A provider's error is shown as such, not as the model's words. */
function replyIn(output: MarkedText, call: ListedSpan) {
  const failure = call.status === "error" ? parsed(output.text) : undefined;
  return isObject(failure) && "error" in failure ? [] : messagesInText(output, "assistant");
}

async function sideOf(
  content: SpanContent,
  side: "input" | "output",
  call: ListedSpan,
  queries: QueryClient,
) {
  const cut = content.cut.find((each) => each.path.length === 1 && each.path[0] === side);
  if (cut && textBytes(cut) > MOST_BYTES) return "too large";
  if (cut) return queries.fetchQuery(wholeValue(call.trace_id, call.span_id, cut));
  const text = content.span[side];
  return typeof text === "string" ? unmarked(text) : null;
}
