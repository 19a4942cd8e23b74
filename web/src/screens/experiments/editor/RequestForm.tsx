// The request of an experiment as a form, each part next to the compared version.
import { TextField } from "../../../components/TextField";
import { isObject, type Json, type JsonObject, withValue } from "../request/json";
import { placeholders } from "../request/versions";
import { Beside, Section } from "./Beside";
import { useProblem } from "./EditContext";
import styles from "./Editor.module.css";
import { changeOf, MessagesEditor } from "./MessagesEditor";
import { NamesEditor } from "./NamesEditor";
import { ParametersEditor, ShownValue } from "./ParametersEditor";
import { ToolsEditor } from "./ToolsEditor";

interface Props {
  before: JsonObject;
  request: JsonObject;
  calls: number;
  onChange: (request: JsonObject) => void;
}

export function RequestForm({ before, request, calls, onChange }: Props) {
  const set = (name: string, value: Json) => onChange(withValue(request, name, value));
  return (
    <>
      <Section title="Model">
        <Beside
          name="model"
          change={changeOf(before.model, request.model)}
          left={<ShownValue value={before.model} />}
          right={<ModelField value={request.model} onChange={(model) => set("model", model)} />}
        />
      </Section>
      <MessagesEditor
        before={listOf(before.messages)}
        messages={listOf(request.messages)}
        calls={calls}
        onChange={(messages) => set("messages", messages)}
      />
      <ParametersEditor
        before={objectOf(before.parameters)}
        parameters={objectOf(request.parameters)}
        onChange={(parameters) => set("parameters", parameters)}
      />
      <ToolsEditor
        before={listOf(before.tools)}
        tools={listOf(request.tools)}
        onChange={(tools) => set("tools", tools)}
      />
      <NamesEditor
        title="Variables"
        field="variables"
        about="The values of {{name}} in messages."
        before={before.variables}
        values={request.variables}
        wanted={placeholders(request.messages)}
        onChange={(values) => set("variables", values)}
      />
      <NamesEditor
        title="Headers"
        field="headers"
        about="Extra headers of the request, without API keys."
        before={before.headers}
        values={request.headers}
        onChange={(values) => set("headers", values)}
      />
    </>
  );
}

function ModelField({
  value,
  onChange,
}: {
  value: Json | undefined;
  onChange: (model: string) => void;
}) {
  const problem = useProblem("model");
  return (
    <div className={styles.part}>
      <TextField
        label="Model"
        hideLabel
        mono
        value={typeof value === "string" ? value : JSON.stringify(value ?? "")}
        placeholder="PROVIDER/MODEL"
        problem={problem}
        onChange={onChange}
      />
    </div>
  );
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}
