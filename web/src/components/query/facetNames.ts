// The names of facets, in the order of the server.
const NAMES: Record<string, string> = {
  status: "Status",
  kind: "Kind",
  operation: "Operation",
  model: "Model",
  provider: "Provider",
  label: "Label",
  user: "User",
  release: "Release",
};

export function facetName(field: string): string {
  return NAMES[field] ?? field;
}
