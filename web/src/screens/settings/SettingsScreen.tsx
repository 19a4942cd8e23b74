// The current settings, retention, redaction, and the server of this page.
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Tabs } from "../../components/Tabs";
import { choice } from "../../search";
import { Screen } from "../../shell/Screen";
import { AboutPart } from "./AboutPart";
import { RedactionPart } from "./RedactionPart";
import { RetentionPart } from "./RetentionPart";
import { SettingsPart } from "./SettingsPart";

const PARTS = ["settings", "retention", "redaction", "about"] as const;
type Part = (typeof PARTS)[number];

export function SettingsScreen() {
  const search: { find?: string; part?: string } = useSearch({ strict: false });
  const navigate = useNavigate();
  const part = choice(search.part, PARTS) ?? "settings";
  const show = (wanted: Part) =>
    void navigate({
      to: "/settings",
      search: wanted === "settings" ? {} : { part: wanted },
      replace: true,
    });
  return (
    <Screen title="Settings" fill>
      <Tabs<Part>
        label="Settings"
        value={part}
        onChange={show}
        tabs={[
          { id: "settings", name: "Current", content: <SettingsPart find={search.find ?? ""} /> },
          { id: "retention", name: "Retention", content: <RetentionPart /> },
          { id: "redaction", name: "Redaction", content: <RedactionPart /> },
          { id: "about", name: "About", content: <AboutPart /> },
        ]}
      />
    </Screen>
  );
}
