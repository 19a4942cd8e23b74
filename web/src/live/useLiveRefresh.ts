// Reads something again after events that may have changed it: not often, and never twice at once.
import { useEffect, useRef } from "react";
import { GAP, type LiveEvent } from "./events";
import { useLiveEvents } from "./LiveProvider";
import { pause } from "./pause";

const APART_MS = 1_000;

/**
 * Calls `refresh` after events of these types, at least `apartMs` apart, while the page is
 * visible. With `concerns`, only after events for which it returns true.
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

/**
 * Runs a frequently requested function: with a pause between runs, and once more if requested in
 * between.
 */
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
      // A failure is retried with the next event. The banner reports a lost connection.
      await this.run(this.stopping.signal).catch(() => {});
      await pause(this.apartMs);
    }
    this.running = false;
  }
}
