// The query of an address. Every value is text, since an id may look like a number.

export function parseSearch(query: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(query));
}

export function stringifySearch(search: Record<string, unknown>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (value !== undefined && value !== null && value !== "") parameters.set(name, String(value));
  }
  const query = parameters.toString();
  return query ? `?${query}` : "";
}

/** The given values among the named ones, as text. */
export function text<K extends string>(
  given: Record<string, unknown>,
  names: readonly K[],
): { [name in K]?: string } {
  const found: { [name in K]?: string } = {};
  for (const name of names) {
    const value = given[name];
    if (value !== undefined && value !== null && value !== "") found[name] = String(value);
  }
  return found;
}

/** The value if it is one of a closed set. */
export function choice<T extends string>(value: unknown, choices: readonly T[]): T | undefined {
  return choices.find((each) => each === value);
}
