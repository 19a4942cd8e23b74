// What facets are called, in the order in which the server tells them.
const NAMES: Record<string, string> = {
  status: "Status",
  kind: "Kind",
  operation: "Operation",
  model: "Model",
  provider: "Provider",
  label: "Label",
};

export function facetName(field: string): string {
  return NAMES[field] ?? field;
}
