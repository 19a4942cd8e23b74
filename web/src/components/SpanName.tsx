// The name of a span: of a tool's call the tool, since its sign says already what it is.
export const TOOL_CALL = "execute_tool ";

/** What is left out for the eye is still read aloud, found and copied. */
export function SpanName({ kind, name }: { kind: string; name: string }) {
  if (kind !== "tool" || !name.startsWith(TOOL_CALL)) return name;
  return (
    <>
      <span className="visually-hidden">{TOOL_CALL}</span>
      {name.slice(TOOL_CALL.length)}
    </>
  );
}
