// Light, dark, or the system's theme.
import { useState } from "react";
import { Select } from "../components/Select";
import { chooseTheme, chosenTheme, THEMES, type Theme } from "../styles/theme";

const NAMES: Record<Theme, string> = {
  system: "System theme",
  light: "Light theme",
  dark: "Dark theme",
};

export function ThemeChoice() {
  const [theme, setTheme] = useState(chosenTheme);
  return (
    <Select
      label="Theme"
      hideLabel
      value={theme}
      options={THEMES.map((each) => ({ id: each, name: NAMES[each] }))}
      onChange={(chosen) => {
        chooseTheme(chosen);
        setTheme(chosen);
      }}
    />
  );
}
