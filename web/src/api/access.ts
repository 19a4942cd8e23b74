// The key by which the page proves who opened it. The link that `treadle serve` prints has it
// after "#", which a browser never sends. It is valid while that server runs.
const STORED = "treadle.key";
const FRAGMENT = /^#key=([\w-]+)$/;

/** Saves the key of the address and removes it from there. Returns whether the address had one. */
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

/** The headers of a request. */
export function accessHeaders(): Record<string, string> {
  const key = localStorage.getItem(STORED);
  return key === null ? {} : { "x-treadle-token": key };
}

/** The same for a WebSocket, to which a browser cannot add headers. */
export function accessProtocols(): string[] {
  const key = localStorage.getItem(STORED);
  return key === null ? [] : ["treadle", `treadle.key.${key}`];
}
