// Which component handles a request of the server's tools: the one that registered last.
import type { components } from "../api/schema";
import { pause } from "../live/pause";

type Schemas = components["schemas"];
export type UiRequest =
  | Schemas["GetCollapsedSpans"]
  | Schemas["GetExperimentData"]
  | Schemas["EvaluateExperimentResults"]
  | Schemas["NavigateTo"]
  | Schemas["NavigateToExperiment"]
  | Schemas["ApplyExperimentData"]
  | Schemas["RunExperiment"]
  | Schemas["ApplyLabelFilter"];
export type UiAnswer =
  | Schemas["CollapsedSpans"]
  | Schemas["ExperimentData"]
  | Schemas["ExperimentResults"]
  | Schemas["Done"];

type RequestOf<T extends UiRequest["type"]> = Extract<UiRequest, { type: T }>;
type AnswerOf<T extends UiRequest["type"]> = T extends "get_collapsed_spans"
  ? Omit<Schemas["CollapsedSpans"], "type">
  : T extends "get_experiment_data"
    ? Omit<Schemas["ExperimentData"], "type">
    : T extends "evaluate_experiment_results"
      ? Omit<Schemas["ExperimentResults"], "type">
      : Omit<Schemas["Done"], "type">;

export type Handler<T extends UiRequest["type"]> = (
  request: RequestOf<T>,
) => AnswerOf<T> | Promise<AnswerOf<T>>;

type AnyHandler = (request: UiRequest) => unknown;

const QUESTIONS: ReadonlySet<string> = new Set([
  "get_collapsed_spans",
  "get_experiment_data",
  "evaluate_experiment_results",
]);
const PATIENCE_MS = 1_500; // milliseconds; the server waits two seconds
const LOOK_MS = 30;

export class Handlers {
  private readonly stacks = new Map<UiRequest["type"], AnyHandler[]>();

  add<T extends UiRequest["type"]>(type: T, handle: Handler<T>): () => void {
    const stack = this.stacks.get(type) ?? [];
    this.stacks.set(type, [...stack, handle as unknown as AnyHandler]);
    return () => {
      const rest = (this.stacks.get(type) ?? []).filter((each) => each !== (handle as unknown));
      this.stacks.set(type, rest);
    };
  }

  /**
   * The page's answer. Without a component that handles the request, it states that; for a read it
   * is null, since the server then answers by itself.
   */
  async answer(request: UiRequest): Promise<UiAnswer | null> {
    const type = `${request.type.replace(/^get_/, "")}_response`;
    const handle = await this.found(request.type);
    try {
      if (!handle) throw new Error("the open screen cannot do that");
      return { type, ...((await handle(request)) as object) } as UiAnswer;
    } catch (error) {
      if (QUESTIONS.has(request.type)) return null;
      const told = error instanceof Error ? error.message : String(error);
      return { type, success: false, error: told.slice(0, 2_000) } as UiAnswer;
    }
  }

  /** A screen may still be loading after a navigation, so this waits a little. */
  private async found(type: UiRequest["type"]): Promise<AnyHandler | undefined> {
    const until = performance.now() + PATIENCE_MS;
    let handle = this.stacks.get(type)?.at(-1);
    while (!handle && performance.now() < until) {
      await pause(LOOK_MS);
      handle = this.stacks.get(type)?.at(-1);
    }
    return handle;
  }
}
