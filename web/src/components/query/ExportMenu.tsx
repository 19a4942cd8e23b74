// Saves all rows of a list, or its groups, as a file.
import { useMutation } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { download } from "../../api/download";
import { Menu } from "../Menu";
import { useNotices } from "../Notices";
import type { ListSearch } from "../table/listSearch";
import type { View } from "./views";

interface Props {
  view: View;
  query: string;
}

export function ExportMenu({ view, query }: Props) {
  const { sort, ascending, group, bucket }: ListSearch = useSearch({ strict: false });
  const { tell } = useNotices();
  const list = group
    ? { group_by: group, ...(group === "time" && bucket ? { bucket_size: bucket } : {}) }
    : { ...(sort ? { sort } : {}), ...(ascending ? { ascending } : {}) };
  const saving = useMutation({
    mutationFn: (format: "csv" | "jsonl") =>
      download(`/api/v1/exports/${group ? "groups" : view}`, {
        ...list,
        ...(query ? { query } : {}),
        format,
      }),
    onError: (error) => tell({ kind: "bad", text: `The export failed: ${error.message}` }),
  });
  return (
    <Menu
      label={saving.isPending ? "Exporting…" : "Export"}
      actions={[
        { id: "csv", name: "All rows as CSV", run: () => saving.mutate("csv") },
        { id: "jsonl", name: "All rows as JSON lines", run: () => saving.mutate("jsonl") },
      ]}
      small={false}
    />
  );
}
