// The tools that the model is offered: name, description and argument schema.
import { Button } from "../../../components/Button";
import { JsonView } from "../../../components/JsonView";
import { LongText } from "../../../components/LongText";
import { TextField } from "../../../components/TextField";
import { visible } from "../../../text/visible";
import { isObject, type Json, withValue } from "../request/json";
import { pairs } from "../request/pairing";
import { Beside, Section } from "./Beside";
import { useProblem } from "./EditContext";
import styles from "./Editor.module.css";
import { JsonField } from "./JsonField";
import { changeOf, Nothing } from "./MessagesEditor";

const NEW_TOOL: Json = {
  type: "function",
  function: {
    name: "new_tool",
    description: "",
    parameters: { type: "object", properties: {}, required: [] },
  },
};

interface Props {
  before: readonly Json[];
  tools: readonly Json[];
  onChange: (tools: Json[]) => void;
}

export function ToolsEditor({ before, tools, onChange }: Props) {
  const problem = useProblem("tools");
  return (
    <Section
      title="Tools"
      actions={
        <Button small onPress={() => onChange([...tools, NEW_TOOL])}>
          Add a tool
        </Button>
      }
    >
      {problem && <p className={styles.problem}>{problem}</p>}
      {before.length + tools.length === 0 && <p className={styles.about}>No tools</p>}
      {pairs(before, tools).map((pair) => {
        const old = pair.before === null ? undefined : before[pair.before];
        const now = pair.after === null ? undefined : tools[pair.after];
        const place = pair.after;
        return (
          <Beside
            key={place === null ? `before ${pair.before}` : place}
            name={`tool ${(place ?? pair.before ?? 0) + 1}`}
            change={changeOf(old, now)}
            texts={textsOf(old, now)}
            left={old === undefined ? <Nothing /> : <ShownTool tool={old} />}
            right={
              place === null || now === undefined ? (
                <Nothing />
              ) : (
                <ToolEditor
                  tool={now}
                  place={place}
                  onChange={(tool) => onChange(tools.with(place, tool))}
                  onRemove={() => onChange(tools.toSpliced(place, 1))}
                />
              )
            }
          />
        );
      })}
    </Section>
  );
}

function ShownTool({ tool }: { tool: Json }) {
  const offered = isObject(tool) ? tool.function : undefined;
  if (!isObject(offered) || typeof offered.name !== "string") return <JsonView value={tool} />;
  return (
    <div className={styles.call}>
      <strong className={styles.mono}>{visible(offered.name)}</strong>
      {typeof offered.description === "string" && (
        <LongText text={offered.description} first={2_000} />
      )}
      <JsonView value={offered.parameters ?? null} />
    </div>
  );
}

interface ToolProps {
  tool: Json;
  place: number;
  onChange: (tool: Json) => void;
  onRemove: () => void;
}

function ToolEditor({ tool, place, onChange, onRemove }: ToolProps) {
  const field = `tools[${place}]`;
  const number = place + 1;
  const nameProblem = useProblem(`${field}.function.name`);
  const describingProblem = useProblem(`${field}.function.description`);
  const offered = isObject(tool) ? tool.function : undefined;
  const set = (name: string, value: Json) => {
    if (isObject(tool) && isObject(offered)) {
      onChange(withValue(tool, "function", withValue(offered, name, value)));
    }
  };
  return (
    <article className={styles.part} aria-label={`Tool ${number}`}>
      {isObject(offered) ? (
        <div className={styles.call}>
          <TextField
            label={`Name of tool ${number}`}
            mono
            value={typeof offered.name === "string" ? offered.name : ""}
            problem={nameProblem}
            onChange={(text) => set("name", text)}
          />
          <TextField
            label={`Description of tool ${number}`}
            rows={2}
            value={typeof offered.description === "string" ? offered.description : ""}
            problem={describingProblem}
            onChange={(text) => set("description", text)}
          />
          <JsonField
            label={`Arguments of tool ${number}, as a JSON schema`}
            field={`${field}.function.parameters`}
            value={offered.parameters ?? {}}
            onChange={(value) => set("parameters", value)}
          />
        </div>
      ) : (
        <JsonField label={`Tool ${number}`} field={field} value={tool} onChange={onChange} />
      )}
      <Button small kind="quiet" aria-label={`Remove tool ${number}`} onPress={onRemove}>
        ✕
      </Button>
    </article>
  );
}

function textsOf(before: Json | undefined, after: Json | undefined) {
  if (before === undefined || after === undefined) return null;
  return { before: JSON.stringify(before, null, 2), after: JSON.stringify(after, null, 2) };
}
