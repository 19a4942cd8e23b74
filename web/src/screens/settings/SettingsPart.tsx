// Every setting with its value, its source, and where to change it; searchable and in groups.
import { useNavigate } from "@tanstack/react-router";
import type { EffectiveSetting, SettingsAnswer } from "../../api/schema";
import { Section } from "../../components/Section";
import { EmptyState, ErrorNotice, Loading } from "../../components/States";
import { FindField } from "../../components/table/FindField";
import { useRowKeys } from "../../components/table/rowFocus";
import { count } from "../../format/numbers";
import { visible } from "../../text/visible";
import { groupsOf, shownValue } from "./grouping";
import { originWords } from "./origins";
import { useSettings } from "./queries";
import styles from "./Settings.module.css";

export function SettingsPart({ find }: { find: string }) {
  const found = useSettings();
  if (found.isPending) return <Loading what="the settings" lines={12} />;
  if (!found.data) {
    return (
      <ErrorNotice
        what="The settings could not be read"
        error={found.error}
        onRetry={() => void found.refetch()}
      />
    );
  }
  return <Shown answer={found.data} find={find} />;
}

function Shown({ answer, find }: { answer: SettingsAnswer; find: string }) {
  const navigate = useNavigate();
  const groups = groupsOf(answer.data, find);
  const fitting = groups.reduce((sum, group) => sum + group.settings.length, 0);
  const search = (text: string) =>
    void navigate({ to: "/settings", search: text ? { find: text } : {}, replace: true });
  useRowKeys("settings");
  return (
    <>
      <div className={styles.find}>
        <FindField label="Find a setting" where="Settings" value={find} onChange={search} />
        <span role="status" className={styles.quiet}>
          {count(fitting)} of {count(answer.data.length)}
        </span>
      </div>
      <div className={styles.files}>
        {answer.warnings.map((warning) => (
          <p key={warning} className={styles.warning}>
            <span aria-hidden="true">⚠ </span>
            {visible(warning)}
          </p>
        ))}
        <p>
          Settings are changed in these files, which the server reads at start:{" "}
          {answer.files.map((file, at) => (
            <span key={file.path}>
              {at > 0 && ", "}
              <code>{visible(file.path)}</code>
              {!file.exists && " (does not exist yet)"}
            </span>
          ))}
          .
        </p>
      </div>
      {groups.length === 0 && <EmptyState title="No setting matches." />}
      {groups.map((group) => (
        <Section key={group.name} title={group.title} flush>
          <ul className={styles.list}>
            {group.settings.map((setting) => (
              <Setting key={setting.key} setting={setting} />
            ))}
          </ul>
        </Section>
      ))}
    </>
  );
}

function Setting({ setting }: { setting: EffectiveSetting }) {
  const isSet = setting.origin.layer !== "default";
  const value = shownValue(setting.value);
  return (
    <li className={styles.setting} data-row>
      <div className={styles.line}>
        <code className={styles.key}>{visible(setting.key)}</code>
        <code className={styles.value} data-set={isSet}>
          {visible(value)}
        </code>
        <span className={styles.origin}>{visible(originWords(setting.origin))}</span>
      </div>
      <p className={styles.quiet}>
        {visible(setting.description)} {setting.type && `Type: ${setting.type}.`}
        {isSet && ` Default: ${visible(shownValue(setting.default))}.`}
        {setting.needs_consent && " A repository can set it only if you trust the repository."}
        {setting.variable && (
          <>
            {" "}
            <code>{visible(setting.variable)}</code>
          </>
        )}
      </p>
    </li>
  );
}
