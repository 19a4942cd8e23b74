// Code colours: Shiki without WebAssembly. Languages are loaded when needed.
import type { HighlighterCore, LanguageRegistration, ThemedToken } from "shiki/core";

type Loaded = { default: LanguageRegistration[] };

const LANGUAGES: Record<string, () => Promise<Loaded>> = {
  bash: () => import("@shikijs/langs/bash"),
  c: () => import("@shikijs/langs/c"),
  cpp: () => import("@shikijs/langs/cpp"),
  csharp: () => import("@shikijs/langs/csharp"),
  css: () => import("@shikijs/langs/css"),
  diff: () => import("@shikijs/langs/diff"),
  go: () => import("@shikijs/langs/go"),
  html: () => import("@shikijs/langs/html"),
  java: () => import("@shikijs/langs/java"),
  javascript: () => import("@shikijs/langs/javascript"),
  json: () => import("@shikijs/langs/json"),
  kotlin: () => import("@shikijs/langs/kotlin"),
  markdown: () => import("@shikijs/langs/markdown"),
  php: () => import("@shikijs/langs/php"),
  python: () => import("@shikijs/langs/python"),
  ruby: () => import("@shikijs/langs/ruby"),
  rust: () => import("@shikijs/langs/rust"),
  sql: () => import("@shikijs/langs/sql"),
  swift: () => import("@shikijs/langs/swift"),
  toml: () => import("@shikijs/langs/toml"),
  tsx: () => import("@shikijs/langs/tsx"),
  typescript: () => import("@shikijs/langs/typescript"),
  yaml: () => import("@shikijs/langs/yaml"),
};

const ENDINGS: Record<string, string> = {
  bash: "bash sh zsh",
  c: "c h",
  cpp: "cpp cc cxx hpp hh hxx",
  csharp: "cs",
  go: "go",
  html: "html htm",
  java: "java",
  javascript: "js mjs cjs jsx",
  json: "json",
  kotlin: "kt kts",
  markdown: "md",
  php: "php",
  python: "py pyi",
  ruby: "rb",
  rust: "rs",
  sql: "sql",
  swift: "swift",
  toml: "toml",
  tsx: "tsx",
  typescript: "ts mts cts",
  yaml: "yaml yml",
};

/** The language of a file name or a fence; null if it is unknown. */
export function languageOf(name: string): string | null {
  const word = (name.split(/[./]/).pop() ?? "").toLowerCase();
  if (word in LANGUAGES) return word;
  const found = Object.entries(ENDINGS).find(([, endings]) => endings.split(" ").includes(word));
  return found?.[0] ?? null;
}

let highlighter: Promise<HighlighterCore> | undefined;

async function opened(): Promise<HighlighterCore> {
  const [{ createHighlighterCore, createCssVariablesTheme }, { createJavaScriptRegexEngine }] =
    await Promise.all([import("shiki/core"), import("shiki/engine/javascript")]);
  return createHighlighterCore({
    themes: [createCssVariablesTheme({ name: "page", variablePrefix: "--shiki-" })],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
}

/** The lines of a text as coloured tokens; null if the language is unknown. */
export async function highlighted(text: string, language: string): Promise<ThemedToken[][] | null> {
  const load = LANGUAGES[language];
  if (!load) return null;
  highlighter ??= opened();
  const core = await highlighter;
  if (!core.getLoadedLanguages().includes(language)) await core.loadLanguage(await load());
  return core.codeToTokensBase(text, { lang: language, theme: "page" });
}
