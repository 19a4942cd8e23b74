// The key by which the page proves who opened it. The link that `treadle serve` prints carries it
// behind "#", which a browser never sends. It works as long as that server runs.
const STORED = "treadle.key";
const FRAGMENT = /^#key=([\w-]+)$/;

/** Keep the key of the address, and take it out of there. Returns whether the address had one. */
export function takeKey(): boolean {
  const found = FRAGMENT.exec(location.hash);
  if (!found?.[1]) return false;
  localStorage.setItem(STORED, found[1]);
  history.replaceState(history.state, "", location.pathname + location.search);
  return true;
}

export function hasKey(): boolean {
  return localStorage.getItem(STORED) !== null;
}

/** What a request sends along. */
export function accessHeaders(): Record<string, string> {
  const key = localStorage.getItem(STORED);
  return key === null ? {} : { "x-treadle-token": key };
}

/** The same for a WebSocket, to which a browser adds no headers. */
export function accessProtocols(): string[] {
  const key = localStorage.getItem(STORED);
  return key === null ? [] : ["treadle", `treadle.key.${key}`];
}
