// A live connection without a server: tests decide what it delivers.
import type { LiveEvent } from "../live/events";
import { LiveSocket } from "../live/socket";

export class SilentSocket extends LiveSocket {
  hearers = new Set<(event: LiveEvent) => void>();
  constructor() {
    super(() => "");
  }
  override listen(hear: (event: LiveEvent) => void) {
    this.hearers.add(hear);
    return () => this.hearers.delete(hear);
  }
  override open() {}
  override close() {}
  say(event: LiveEvent) {
    for (const hear of this.hearers) hear(event);
  }
}
