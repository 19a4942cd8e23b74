// Keeps one turn up to date: what happened before is read once, what happens then is heard. Events
// are put in once a frame, however many come.
import { GAP, type LiveEvent } from "../../live/events";
import { type TurnEvent, turnEvent } from "./events";
import { appliedAll, emptyTurn, rootOf, type Turn } from "./turn";

/** What happened in the turn so far, in order; it holds the beginning, or is empty. */
export type Replay = (signal: AbortSignal) => Promise<readonly LiveEvent[]>;

export interface Fed {
  turn: Turn;
  /** `loading` until what happened before is read; `lost` where its beginning is kept no more. */
  state: "loading" | "following" | "lost";
  error: unknown;
}

export class TurnFeed {
  shown: Fed;
  /** Those that came while what happened before is being read. */
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

  /** Read what happened so far. Whoever calls it hears events already, so that none is missed. */
  start = async (): Promise<void> => {
    this.stop();
    const reading = new AbortController();
    this.reading = reading;
    this.early = [];
    try {
      const before = known(await this.replay(reading.signal));
      if (reading.signal.aborted) return;
      // From the beginning: where events were missed, what was made of the others is not whole.
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

/** A page that is not shown draws no frames, but is to be up to date when it is. */
function onNextFrame(run: () => void): () => void {
  if (document.hidden) {
    const timer = setTimeout(run, 500);
    return () => clearTimeout(timer);
  }
  const frame = requestAnimationFrame(run);
  return () => cancelAnimationFrame(frame);
}
