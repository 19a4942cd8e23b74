// The name of a span. For a tool call it is the tool, since the badge already shows the kind.
export const TOOL_CALL = "execute_tool ";

/** Hidden text is still read aloud, found and copied. */
export function SpanName({ kind, name }: { kind: string; name: string }) {
  if (kind !== "tool" || !name.startsWith(TOOL_CALL)) return name;
  return (
    <>
      <span className="visually-hidden">{TOOL_CALL}</span>
      {name.slice(TOOL_CALL.length)}
    </>
  );
}
