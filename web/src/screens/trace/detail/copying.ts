// A recorded call as a program that repeats it through the gateway of this server. The program
// reads the API key from the usual variable: no key is ever written.

export interface Call {
  /** The address of the gateway: `http://127.0.0.1:7070`. */
  server: string;
  body: Record<string, unknown>;
}

export function asCurl({ server, body }: Call): string {
  const written = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
  return [
    `curl ${server}/v1/chat/completions \\`,
    '  -H "Content-Type: application/json" \\',
    '  -H "Authorization: Bearer $OPENAI_API_KEY" \\',
    `  -d '${written}'`,
  ].join("\n");
}

export function asPython({ server, body }: Call): string {
  const { model, messages, stream, ...more } = body;
  const known = ["tools", "temperature", "top_p", "max_tokens", "max_completion_tokens", "stop"];
  const others = Object.entries(more).filter(([name]) => !known.includes(name));
  const named = Object.entries(more).filter(([name]) => known.includes(name));
  const lines = [
    "import os",
    "",
    "import openai",
    "",
    "client = openai.OpenAI(",
    `    base_url=${python(`${server}/v1`, 1)},`,
    '    api_key=os.environ.get("OPENAI_API_KEY", "none"),',
    ")",
    "answer = client.chat.completions.create(",
    ...Object.entries({ model, messages, ...Object.fromEntries(named) }).map(
      ([name, value]) => `    ${name}=${python(value, 1)},`,
    ),
    ...(others.length > 0 ? [`    extra_body=${python(Object.fromEntries(others), 1)},`] : []),
    ...(stream === true ? ["    stream=True,"] : []),
    ")",
    ...(stream === true
      ? ["for chunk in answer:", "    print(chunk.to_json(indent=None))"]
      : ["print(answer.to_json())"]),
  ];
  return `${lines.join("\n")}\n`;
}

/** A JSON value in Python syntax. */
export function python(value: unknown, depth: number): string {
  const inside = "    ".repeat(depth + 1);
  const outside = "    ".repeat(depth);
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string") return pythonText(value);
  if (typeof value !== "object") return String(value);
  const isList = Array.isArray(value);
  const items = isList
    ? value.map((each) => python(each, depth + 1))
    : Object.entries(value).map(
        ([name, each]) => `${pythonText(name)}: ${python(each, depth + 1)}`,
      );
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  if (items.length === 0) return open + close;
  return `${open}\n${items.map((item) => `${inside}${item},\n`).join("")}${outside}${close}`;
}

/** Every JSON string is a Python string, except for surrogate pairs, which stay unescaped. */
function pythonText(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007f");
}
