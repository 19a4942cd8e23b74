// The connection that brings the server's events. It reconnects and resumes where it broke off.
import { accessProtocols } from "../api/access";
import { GAP, type LiveEvent, OPEN } from "./events";

/** `refused`: the server answers, but does not accept the key of this page. */
export type ConnectionState = "connecting" | "open" | "lost" | "refused";

export interface Connection {
  state: ConnectionState;
  /** The next try, in milliseconds of Date.now(); null while connected. */
  retryAt: number | null;
}

type Listener = (event: LiveEvent) => void;

const SILENCE_MS = 40_000; // the server sends a heartbeat every 15 seconds
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 10_000;

/**
 * The live events of one page. Listeners receive them in order; `gap` states that some are
 * missing.
 */
export class LiveSocket {
  connection: Connection = { state: "connecting", retryAt: null };
  private socket: WebSocket | null = null;
  private after: number | null = null;
  private tries = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly listeners = new Set<Listener>();
  private readonly watchers = new Set<() => void>();
  private closed = false;

  /** `refuses` asks the server whether it refuses this page: a WebSocket does not report that. */
  constructor(
    private readonly address: (after: number | null) => string,
    private readonly refuses: () => Promise<boolean> = () => Promise.resolve(false),
  ) {}

  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  open(): void {
    this.closed = false;
    this.socket = new WebSocket(this.address(this.after), accessProtocols());
    this.socket.onopen = () => {
      this.tries = 0;
      this.become({ state: "open", retryAt: null });
      this.expectLife();
    };
    this.socket.onmessage = (message) => {
      this.expectLife();
      this.hear(String(message.data));
    };
    this.socket.onclose = () => this.retry();
  }

  /** Reconnects now, whatever the wait. */
  retryNow = (): void => {
    if (this.connection.retryAt === null) return;
    clearTimeout(this.timer);
    this.open();
  };

  close(): void {
    this.closed = true;
    this.drop();
  }

  private hear(text: string): void {
    const event = JSON.parse(text) as LiveEvent;
    if (event.type === "alive") return;
    if (event.type === OPEN) {
      if (this.after !== null) return; // it resumes: nothing was missed
      this.after = Number(event.after);
    } else if (event.type === GAP) this.after = Number(event.next) - 1;
    else if (typeof event.seq === "number") this.after = event.seq;
    for (const listener of this.listeners) listener(event);
  }

  private expectLife(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.retry(), SILENCE_MS);
  }

  private retry(): void {
    this.drop();
    if (this.closed) return;
    const wait = Math.min(FIRST_RETRY_MS * 2 ** this.tries, LAST_RETRY_MS);
    this.tries += 1;
    const state = this.connection.state === "refused" ? "refused" : "lost";
    this.become({ state, retryAt: Date.now() + wait });
    this.timer = setTimeout(() => this.open(), wait);
    void this.explain();
  }

  private async explain(): Promise<void> {
    const state = (await this.refuses()) ? "refused" : "lost";
    const { retryAt } = this.connection;
    if (retryAt !== null && state !== this.connection.state) this.become({ state, retryAt });
  }

  private drop(): void {
    clearTimeout(this.timer);
    if (this.socket === null) return;
    this.socket.onclose = null;
    this.socket.onmessage = null;
    this.socket.close();
    this.socket = null;
  }

  private become(connection: Connection): void {
    this.connection = connection;
    for (const watcher of this.watchers) watcher();
  }
}
