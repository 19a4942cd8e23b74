// The names of keys, and whether a person is typing text.

/** The key of an event, such as "j", "?", "Mod+Enter", "Shift+ArrowDown". */
export function keyOf(event: KeyboardEvent): string {
  const parts: string[] = [];
  if (event.ctrlKey || event.metaKey) parts.push("Mod");
  if (event.altKey) parts.push("Alt");
  // A letter or symbol already shows whether Shift was held.
  if (event.shiftKey && event.key.length > 1) parts.push("Shift");
  parts.push(event.key === " " ? "Space" : event.key);
  return parts.join("+");
}

const CAPS: Record<string, string> = {
  Mod: "Ctrl",
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
  PageUp: "Page ↑",
  PageDown: "Page ↓",
};

/** Keys as shown: "Mod+Enter" → "Ctrl Enter". */
export function shownKeys(keys: string): string[] {
  const isMac = navigator.platform.startsWith("Mac");
  const caps = isMac ? { ...CAPS, Mod: "⌘" } : CAPS;
  return keys.split(/[+ ](?=.)/).map((key) => caps[key] ?? key);
}

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement) return true;
  if (target instanceof HTMLSelectElement) return true;
  const noText = ["checkbox", "radio", "button", "range"];
  return target instanceof HTMLInputElement && !noText.includes(target.type);
}
