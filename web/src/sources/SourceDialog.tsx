// The lines of a file that the address names, as they are on disk now.
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { client, ok } from "../api/client";
import { Code } from "../components/Code";
import { CopyButton } from "../components/CopyButton";
import { Dialog } from "../components/Dialog";
import { ErrorNotice, Loading } from "../components/States";
import { visible } from "../text/visible";
import { type Lines, linesIn, type SourceSearch } from "./address";

export function SourceDialog() {
  const { source } = useSearch({ strict: false }) as SourceSearch;
  const navigate = useNavigate();
  const lines = source === undefined ? null : linesIn(source);
  const close = () =>
    void navigate({
      to: ".",
      search: (now: object) => ({ ...now, source: undefined }),
      replace: true,
    } as never);
  return (
    <Dialog
      title={source === undefined ? "" : visible(source)}
      isOpen={source !== undefined}
      onOpenChange={(open) => !open && close()}
      actions={lines && <CopyButton text={`${lines.file}:${lines.first}`} label="Copy location" />}
    >
      {lines ? <Excerpt lines={lines} /> : <p>The address names no lines of a file.</p>}
    </Dialog>
  );
}

function Excerpt({ lines: { file, first, last } }: { lines: Lines }) {
  const found = useQuery({
    queryKey: ["excerpt", file, first, last],
    queryFn: ({ signal }) => {
      const query = { file, first_line: first, last_line: last };
      return ok(client.GET("/api/v1/code/excerpt", { params: { query }, signal }));
    },
  });
  if (found.isPending) return <Loading what="the lines" lines={8} />;
  if (found.isError) {
    return (
      <ErrorNotice
        what="The lines could not be read"
        error={found.error}
        onRetry={() => void found.refetch()}
      />
    );
  }
  const { lines, first_line } = found.data;
  return <Code text={lines.join("\n")} language={file} startLine={first_line} label={file} />;
}
