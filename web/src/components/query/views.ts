// The three searchable lists: their names on the server, and their addresses.
export const VIEWS = ["threads", "runs", "spans"] as const;
export type View = (typeof VIEWS)[number];

export const ADDRESS_OF: Record<View, "/threads" | "/runs" | "/traces"> = {
  threads: "/threads",
  runs: "/runs",
  spans: "/traces",
};

export function viewAt(path: string): View | undefined {
  return VIEWS.find((view) => ADDRESS_OF[view] === path.replace(/\/$/, ""));
}
