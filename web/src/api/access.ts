// The key by which the page proves who opened it. The link that `treadle serve` prints has it
// after "#", which a browser never sends. It is valid while that server runs.
const STORED = "treadle.key";
// The project that the person chose, if the person has a role in several.
const PROJECT = "treadle.project";
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

/** The project that the person chose on this page, or null. */
export function chosenProject(): string | null {
  return localStorage.getItem(PROJECT);
}

/** Chooses the project of all later requests. Null returns to the person's first project. */
export function chooseProject(name: string | null): void {
  if (name === null) localStorage.removeItem(PROJECT);
  else localStorage.setItem(PROJECT, name);
}

/** The headers of a request. */
export function accessHeaders(): Record<string, string> {
  const key = localStorage.getItem(STORED);
  const project = chosenProject();
  return {
    ...(key === null ? {} : { "x-treadle-token": key }),
    ...(project === null ? {} : { "x-treadle-project": project }),
  };
}

/** The same for a WebSocket, to which a browser cannot add headers. */
export function accessProtocols(): string[] {
  const key = localStorage.getItem(STORED);
  const project = chosenProject();
  const offered = [
    ...(key === null ? [] : [`treadle.key.${key}`]),
    ...(project === null ? [] : [`treadle.project.${project}`]),
  ];
  return offered.length === 0 ? [] : ["treadle", ...offered];
}
