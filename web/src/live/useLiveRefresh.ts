// Reads something again when events say that it may be another: seldom, and never twice at once.
import { useEffect, useRef } from "react";
import { GAP, type LiveEvent } from "./events";
import { useLiveEvents } from "./LiveProvider";
import { pause } from "./pause";

const APART_MS = 1_000;

/**
 * Call `refresh` after events of these types, at least `apartMs` apart, while the page is seen. With
 * `concerns`, only after those that it is true of.
 */
export function useLiveRefresh(
  types: readonly string[],
  refresh: (signal: AbortSignal) => Promise<unknown>,
  enabled = true,
  concerns: (event: LiveEvent) => boolean = () => true,
  apartMs = APART_MS,
): void {
  const newest = useRef({ refresh, enabled });
  useEffect(() => {
    newest.current = { refresh, enabled };
  });
  const pace = useRef<Pace>(null);
  useEffect(() => {
    const own = new Pace(async (signal) => {
      if (newest.current.enabled) await newest.current.refresh(signal);
    }, apartMs);
    pace.current = own;
    document.addEventListener("visibilitychange", own.seen);
    return () => {
      document.removeEventListener("visibilitychange", own.seen);
      own.stop();
    };
  }, [apartMs]);
  useLiveEvents(types, (event) => {
    if (newest.current.enabled && (event.type === GAP || concerns(event))) pace.current?.want();
  });
}

/** Runs something that is wanted often: with a pause between, and once more if wanted meanwhile. */
class Pace {
  private wanted = false;
  private running = false;
  private readonly stopping = new AbortController();

  constructor(
    private readonly run: (signal: AbortSignal) => Promise<unknown>,
    private readonly apartMs: number,
  ) {}

  want(): void {
    this.wanted = true;
    void this.go();
  }

  seen = (): void => void this.go();

  stop(): void {
    this.stopping.abort();
  }

  private async go(): Promise<void> {
    if (this.running) return;
    this.running = true;
    while (this.wanted && !document.hidden && !this.stopping.signal.aborted) {
      this.wanted = false;
      // What fails is tried again with the next event; a lost connection is told of above.
      await this.run(this.stopping.signal).catch(() => {});
      await pause(this.apartMs);
    }
    this.running = false;
  }
}
