// Keeps one turn up to date: earlier events are read once, later ones are received live. The feed
// applies events once per frame.
import { GAP, type LiveEvent } from "../../live/events";
import { type TurnEvent, turnEvent } from "./events";
import { appliedAll, emptyTurn, rootOf, type Turn } from "./turn";

/** The events of the turn so far, in order. They include the first one, or are empty. */
export type Replay = (signal: AbortSignal) => Promise<readonly LiveEvent[]>;

export interface Fed {
  turn: Turn;
  /**
   * `loading` until the earlier events are read; `lost` if the first ones are no longer available.
   */
  state: "loading" | "following" | "lost";
  error: unknown;
}

export class TurnFeed {
  shown: Fed;
  /** Events that arrived while the earlier ones are read. */
  private early: TurnEvent[] | null = null;
  private coming: TurnEvent[] = [];
  private reading: AbortController | null = null;
  private cancelFrame: (() => void) | null = null;
  private readonly watchers = new Set<() => void>();

  constructor(
    readonly requestId: string,
    private readonly replay: Replay,
    private readonly nextFrame: (run: () => void) => () => void = onNextFrame,
  ) {
    this.shown = { turn: emptyTurn(requestId), state: "loading", error: null };
  }

  watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  /** Reads the earlier events. The caller already receives live events, so that none is missed. */
  start = async (): Promise<void> => {
    this.stop();
    const reading = new AbortController();
    this.reading = reading;
    this.early = [];
    try {
      const before = known(await this.replay(reading.signal));
      if (reading.signal.aborted) return;
      // From the start: after missed events the current state is incomplete.
      const turn = appliedAll(emptyTurn(this.requestId), [...before, ...this.early]);
      this.become({ turn, state: before.length === 0 || rootOf(turn) ? "following" : "lost" });
    } catch (error) {
      if (!reading.signal.aborted) this.become({ error });
    } finally {
      if (this.reading === reading) this.early = null;
    }
  };

  stop(): void {
    this.reading?.abort();
    this.cancelFrame?.();
    this.cancelFrame = null;
    this.coming = [];
  }

  hear(heard: LiveEvent): void {
    if (heard.type === GAP) {
      void this.start();
      return;
    }
    const event = turnEvent(heard);
    if (!event) return;
    if (this.early) {
      this.early.push(event);
      return;
    }
    this.coming.push(event);
    this.cancelFrame ??= this.nextFrame(this.flush);
  }

  private flush = (): void => {
    this.cancelFrame = null;
    const { coming } = this;
    this.coming = [];
    const turn = appliedAll(this.shown.turn, coming);
    if (turn !== this.shown.turn) this.become({ turn });
  };

  private become(change: Partial<Fed>): void {
    this.shown = { ...this.shown, error: null, ...change };
    for (const watcher of this.watchers) watcher();
  }
}

function known(events: readonly LiveEvent[]): TurnEvent[] {
  return events.map(turnEvent).filter((each) => each !== null);
}

/** A hidden page draws no frames, but must be up to date when it is shown. */
function onNextFrame(run: () => void): () => void {
  if (document.hidden) {
    const timer = setTimeout(run, 500);
    return () => clearTimeout(timer);
  }
  const frame = requestAnimationFrame(run);
  return () => cancelAnimationFrame(frame);
}
