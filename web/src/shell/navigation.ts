// The screens of the page in the order of the navigation, each with its keys.
import type { LinkProps } from "@tanstack/react-router";

export interface Place {
  to: NonNullable<LinkProps["to"]>;
  name: string;
  keys: string;
}

export const PLACES: readonly (readonly Place[])[] = [
  [
    { to: "/threads", name: "Threads", keys: "g t" },
    { to: "/runs", name: "Runs", keys: "g r" },
    { to: "/traces", name: "Spans", keys: "g p" },
    { to: "/experiments", name: "Experiments", keys: "g e" },
  ],
  [
    { to: "/sessions", name: "Sessions", keys: "g s" },
    { to: "/proposals", name: "Proposals", keys: "g o" },
    { to: "/breakpoints", name: "Breakpoints", keys: "g b" },
  ],
  [
    { to: "/tools", name: "Tools", keys: "g l" },
    { to: "/models", name: "Models", keys: "g m" },
    { to: "/settings", name: "Settings", keys: "g c" },
  ],
];
