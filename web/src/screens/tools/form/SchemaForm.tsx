// A form from a JSON schema: one field for each argument, with its error.
import { Button } from "../../../components/Button";
import { NumberField } from "../../../components/NumberField";
import { Select } from "../../../components/Select";
import { TextField } from "../../../components/TextField";
import { visible } from "../../../text/visible";
import { type Draft, emptyDraft, type Problems, within } from "./draft";
import { type Field, inWords, type Member, shownChoice } from "./fields";
import styles from "./SchemaForm.module.css";

interface Props {
  members: readonly Member[];
  draft: { [name: string]: Draft };
  onChange: (draft: { [name: string]: Draft }) => void;
  problems: Problems;
  /** The path of the object that it fills. */
  path?: string;
}

export function SchemaForm({ members, draft, onChange, problems, path = "" }: Props) {
  if (members.length === 0) return <p className={styles.hint}>This tool has no arguments.</p>;
  return (
    <div className={styles.form}>
      {members.map((member) => (
        <MemberField
          key={member.name}
          member={member}
          draft={draft[member.name] ?? null}
          onChange={(value) => onChange({ ...draft, [member.name]: value })}
          problems={problems}
          path={within(path, member.name)}
        />
      ))}
    </div>
  );
}

interface MemberProps {
  member: Member;
  draft: Draft;
  onChange: (draft: Draft) => void;
  problems: Problems;
  path: string;
}

function MemberField({ member, ...rest }: MemberProps) {
  const { name, field, isRequired, description, byDefault } = member;
  return (
    <FieldView
      {...rest}
      field={field}
      label={isRequired ? `${name} (required)` : name}
      hint={description}
      byDefault={byDefault === undefined ? "" : shownChoice(byDefault)}
      isRequired={isRequired}
    />
  );
}

interface FieldProps {
  field: Field;
  label: string;
  hint: string;
  /** The default value. */
  byDefault: string;
  isRequired: boolean;
  draft: Draft;
  onChange: (draft: Draft) => void;
  problems: Problems;
  path: string;
}

function leftOut(byDefault: string) {
  return { id: "", name: byDefault ? `– (${byDefault})` : "–" };
}

function FieldView(props: FieldProps) {
  const { field, label, hint, byDefault, draft, onChange, problems, path } = props;
  const shared = {
    label,
    problem: problems[path],
    ...(hint ? { hint: visible(hint) } : {}),
    ...(byDefault ? { placeholder: byDefault } : {}),
  };
  switch (field.kind) {
    case "text":
    case "json":
      return (
        <TextField
          {...shared}
          label={field.kind === "json" ? `${label}, as JSON` : label}
          value={typeof draft === "string" ? draft : ""}
          onChange={onChange}
          mono
          rows={field.kind === "json" || field.isLong ? 4 : 1}
        />
      );
    case "number":
      return (
        <NumberField
          {...shared}
          value={typeof draft === "number" ? draft : null}
          onChange={onChange}
          whole={field.isWhole}
          {...(field.least === undefined ? {} : { least: field.least })}
          {...(field.most === undefined ? {} : { most: field.most })}
        />
      );
    case "boolean":
      return (
        <Chosen {...props}>
          <Select
            label={label}
            value={typeof draft === "boolean" ? String(draft) : ""}
            options={[
              leftOut(byDefault),
              { id: "true", name: "true" },
              { id: "false", name: "false" },
            ]}
            onChange={(value) => onChange(value === "" ? null : value === "true")}
          />
        </Chosen>
      );
    case "choice":
      return (
        <Chosen {...props}>
          <Select
            label={label}
            value={typeof draft === "number" ? String(draft) : ""}
            options={[
              leftOut(byDefault),
              ...field.choices.map((each, at) => ({ id: String(at), name: shownChoice(each) })),
            ]}
            onChange={(value) => onChange(value === "" ? null : Number(value))}
          />
        </Chosen>
      );
    case "list":
      return <ListField {...props} field={field} />;
    case "object":
      return (
        <fieldset className={styles.inner}>
          <legend>{label}</legend>
          {hint && <p className={styles.hint}>{visible(hint)}</p>}
          <SchemaForm
            members={field.members}
            draft={isDrafts(draft) ? draft : {}}
            onChange={onChange}
            problems={problems}
            path={path}
          />
          <Problem text={problems[path]} />
        </fieldset>
      );
  }
}

function Chosen({ hint, problems, path, children }: FieldProps & { children: React.ReactNode }) {
  return (
    <div className={styles.chosen}>
      {children}
      {hint && <p className={styles.hint}>{visible(hint)}</p>}
      <Problem text={problems[path]} />
    </div>
  );
}

function Problem({ text }: { text: string | undefined }) {
  return text ? <p className={styles.problem}>{text}</p> : null;
}

function ListField(props: FieldProps & { field: Extract<Field, { kind: "list" }> }) {
  const { field, label, hint, draft, onChange, problems, path } = props;
  const drafts = Array.isArray(draft) ? draft : [];
  return (
    <fieldset className={styles.inner}>
      <legend>{label}</legend>
      {hint && <p className={styles.hint}>{visible(hint)}</p>}
      {drafts.map((each, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the index identifies an item
        <div key={at} className={styles.item}>
          <div className={styles.value}>
            <FieldView
              field={field.item}
              label={`${at + 1}`}
              hint=""
              byDefault=""
              isRequired
              draft={each}
              onChange={(value) => onChange(drafts.with(at, value))}
              problems={problems}
              path={within(path, at)}
            />
          </div>
          <Button
            kind="quiet"
            small
            aria-label={`Remove ${at + 1} of ${label}`}
            onPress={() => onChange(drafts.toSpliced(at, 1))}
          >
            ✕
          </Button>
        </div>
      ))}
      <div>
        <Button
          small
          aria-label={`Add to ${label}: ${inWords(field.item)}`}
          onPress={() => onChange([...drafts, emptyDraft(field.item)])}
        >
          Add
        </Button>
      </div>
      <Problem text={problems[path]} />
    </fieldset>
  );
}

function isDrafts(draft: Draft): draft is { [name: string]: Draft } {
  return typeof draft === "object" && draft !== null && !Array.isArray(draft);
}
