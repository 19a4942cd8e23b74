// Saves a file of the server, and reports a failure as a notice.
import { useMutation } from "@tanstack/react-query";
import { download, type Parameters } from "../api/download";
import { useNotices } from "./Notices";

export interface File {
  path: string;
  parameters?: Parameters;
}

export function useDownload() {
  const { tell } = useNotices();
  return useMutation({
    mutationFn: ({ path, parameters }: File) => download(path, parameters ?? {}),
    onError: (error) => tell({ kind: "bad", text: `The export failed: ${error.message}` }),
  });
}

/** A run, thread or trace as one HTML page. */
export const htmlExport = (id: string): File => ({
  path: `/api/v1/exports/html/${encodeURIComponent(id)}`,
});
