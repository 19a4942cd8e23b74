// Saves all rows of a list, or its groups, as a file.
import { useSearch } from "@tanstack/react-router";
import { Menu } from "../Menu";
import type { ListSearch } from "../table/listSearch";
import { useDownload } from "../useDownload";
import type { View } from "./views";

interface Props {
  view: View;
  query: string;
}

export function ExportMenu({ view, query }: Props) {
  const { sort, ascending, group, bucket }: ListSearch = useSearch({ strict: false });
  const list = group
    ? { group_by: group, ...(group === "time" && bucket ? { bucket_size: bucket } : {}) }
    : { ...(sort ? { sort } : {}), ...(ascending ? { ascending } : {}) };
  const saving = useDownload();
  const save = (format: "csv" | "jsonl") =>
    saving.mutate({
      path: `/api/v1/exports/${group ? "groups" : view}`,
      parameters: { ...list, ...(query ? { query } : {}), format },
    });
  return (
    <Menu
      label={saving.isPending ? "Exporting…" : "Export"}
      actions={[
        { id: "csv", name: "All rows as CSV", run: () => save("csv") },
        { id: "jsonl", name: "All rows as JSON lines", run: () => save("jsonl") },
      ]}
      small={false}
    />
  );
}
