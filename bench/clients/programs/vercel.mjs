// Vercel's AI SDK with its own telemetry, in versions 5 to 7.

import { readFileSync } from "node:fs";

import { createOpenAI } from "@ai-sdk/openai";
import { embed, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const scenario = JSON.parse(process.env.SCENARIO);
process.env.OTEL_RESOURCE_ATTRIBUTES = `service.version=${scenario.RELEASE}`;
const { sdk } = await import("./setup.mjs");

const packages = ["ai", "@ai-sdk/openai", "@opentelemetry/sdk-node"];
const versions = packages.map((name) => {
  const text = readFileSync(`node_modules/${name}/package.json`, "utf8");
  return [name, JSON.parse(text).version];
});
const isVersion7 = versions[0][1].startsWith("7.");
const lacks = { "fail/call/error type": "the client's own class is AI_APICallError" };
for (const span of isVersion7 ? ["call", "tool"] : []) {
  lacks[`chat/${span}/labels`] = "only the spans of the agent and its steps have the tags";
}

const openai = createOpenAI({ baseURL: process.env.PROVIDER_URL, apiKey: "none" });
const model = openai.chat(scenario.MODEL);
const context = {
  sessionId: scenario.THREAD,
  userId: scenario.USER,
  tags: scenario.TAGS,
  ...scenario.METADATA,
};
const included = Object.fromEntries(Object.keys(context).map((key) => [key, true]));
const named = isVersion7
  ? {
      runtimeContext: context,
      telemetry: { functionId: scenario.ROOT, includeRuntimeContext: included },
    }
  : {
      experimental_telemetry: { isEnabled: true, functionId: scenario.ROOT, metadata: context },
    };
const recorded = isVersion7 ? {} : { experimental_telemetry: { isEnabled: true } };
const system = { [isVersion7 ? "instructions" : "system"]: scenario.SYSTEM };
const tools = {
  get_weather: tool({
    description: scenario.FUNCTION.description,
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => {
      if (city === scenario.FAILING_CITY) {
        const error = new Error(scenario.TOOL_ERROR);
        error.name = "ValueError";
        throw error;
      }
      return scenario.RESULT;
    },
  }),
};

const ask = (prompt, more = {}) =>
  generateText({ model, prompt, maxRetries: 0, ...recorded, ...more });

const parts = {
  chat: () =>
    ask(scenario.QUESTION, { ...system, ...named, tools, stopWhen: stepCountIs(2) }),
  stream: () =>
    streamText({ model, ...system, prompt: scenario.QUESTION, ...recorded }).consumeStream(),
  embed: () =>
    embed({ model: openai.embedding(scenario.EMBEDDER), value: scenario.EMBEDDED, ...recorded }),
  fail: () => ask(scenario.REFUSED_QUESTION),
  responses: () =>
    ask(scenario.QUESTION, { model: openai.responses(scenario.MODEL), ...system }),
  image: () => {
    const text = { type: "text", text: scenario.IMAGE_QUESTION };
    const content = [text, { type: "image", image: scenario.IMAGE }];
    return ask(undefined, { messages: [{ role: "user", content }] });
  },
  "failing tool": () => ask(scenario.FAILING_QUESTION, { tools }),
};

const say = (value) => process.stdout.write(`@@ ${JSON.stringify(value)}\n`);
const now = () => Math.round((performance.timeOrigin + performance.now()) * 1e3) * 1e3;
say({ versions: Object.fromEntries(versions), lacks });
for (const [part, call] of Object.entries(parts)) {
  const began_ns = now();
  let raised = null;
  try {
    await call();
  } catch (error) {
    raised = `${error.name}: ${error.message}`.slice(0, 300);
  }
  say({ part, began_ns, ended_ns: now(), raised });
  await new Promise((resolve) => setTimeout(resolve, 20)); // separates the parts
}
await sdk.shutdown();
