// Vercel's AI SDK with its own telemetry.

import { createRequire } from "node:module";

import { createOpenAI } from "@ai-sdk/openai";
import { embed, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const scenario = JSON.parse(process.env.SCENARIO);
process.env.OTEL_RESOURCE_ATTRIBUTES = `service.version=${scenario.RELEASE}`;
const { sdk } = await import("./setup.mjs");

const openai = createOpenAI({ baseURL: process.env.PROVIDER_URL, apiKey: "none" });
const model = openai.chat(scenario.MODEL);
const telemetry = { isEnabled: true };
const named = {
  ...telemetry,
  functionId: scenario.ROOT,
  metadata: {
    sessionId: scenario.THREAD,
    userId: scenario.USER,
    tags: scenario.TAGS,
    ...scenario.METADATA,
  },
};
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
  generateText({ model, prompt, maxRetries: 0, experimental_telemetry: telemetry, ...more });

const parts = {
  chat: () =>
    ask(scenario.QUESTION, {
      system: scenario.SYSTEM,
      tools,
      stopWhen: stepCountIs(2),
      experimental_telemetry: named,
    }),
  stream: () =>
    streamText({
      model,
      system: scenario.SYSTEM,
      prompt: scenario.QUESTION,
      experimental_telemetry: telemetry,
    }).consumeStream(),
  embed: () =>
    embed({
      model: openai.embedding(scenario.EMBEDDER),
      value: scenario.EMBEDDED,
      experimental_telemetry: telemetry,
    }),
  fail: () => ask(scenario.REFUSED_QUESTION),
  responses: () =>
    ask(scenario.QUESTION, { model: openai.responses(scenario.MODEL), system: scenario.SYSTEM }),
  image: () => {
    const text = { type: "text", text: scenario.IMAGE_QUESTION };
    const content = [text, { type: "image", image: scenario.IMAGE }];
    return ask(undefined, { messages: [{ role: "user", content }] });
  },
  "failing tool": () => ask(scenario.FAILING_QUESTION, { tools }),
};

const say = (value) => process.stdout.write(`@@ ${JSON.stringify(value)}\n`);
const now = () => Math.round((performance.timeOrigin + performance.now()) * 1e3) * 1e3;
const require = createRequire(import.meta.url);
const packages = ["ai", "@ai-sdk/openai", "@opentelemetry/sdk-node"];
const versions = packages.map((name) => [name, require(`${name}/package.json`).version]);
const lacks = { "fail/call/error type": "the client's own class is AI_APICallError" };
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
