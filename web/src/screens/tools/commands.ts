// The same call as a terminal command.
import type { Json } from "./form/fields";

export function asCurl(origin: string, name: string, given: Json): string {
  return [
    `curl -s '${origin}/api/v1/tools/${encodeURIComponent(name)}/call'`,
    "  -H 'Content-Type: application/json'",
    `  -d ${quoted(JSON.stringify(given))}`,
  ].join(" \\\n");
}

export function asCommand(name: string, given: Json): string {
  return `treadle tools call ${quoted(name)} --args ${quoted(JSON.stringify(given))}`;
}

/** Quoted for a shell: unchanged if that is safe, otherwise in single quotes. */
function quoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
