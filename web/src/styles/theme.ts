// Light, dark, or the system's theme: a person's choice, kept in the browser.

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "treadle.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

export function chosenTheme(): Theme {
  const kept = localStorage.getItem(KEY);
  return THEMES.find((theme) => theme === kept) ?? "system";
}

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  show();
}

/** Applies the chosen theme, now and when the system's theme changes. */
export function keepTheme(): void {
  show();
  dark.addEventListener("change", show);
}

function show(): void {
  const chosen = chosenTheme();
  const shown = chosen === "system" ? (dark.matches ? "dark" : "light") : chosen;
  document.documentElement.dataset.theme = shown;
}
