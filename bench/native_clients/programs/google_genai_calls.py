"""Calls the gateway with Google's client for Gemini, and prints what the client understood."""

import json
import os
from typing import Any

namespace: dict[str, Any] = {}
exec(os.environ["LINES_OF_PAGE"], namespace)
genai, client = namespace["genai"], namespace["client"]
MODEL = "gemini-3.5-flash"
QUESTION = "How is the weather in Zürich?"
types = genai.types
schema = types.Schema(type="OBJECT", properties={"city": types.Schema(type="STRING")})
declaration = types.FunctionDeclaration(
    name="get_weather", description="The weather of a city.", parameters=schema
)
config = types.GenerateContentConfig(
    system_instruction="Be brief.",
    temperature=0.2,
    max_output_tokens=2_000,
    tools=[types.Tool(function_declarations=[declaration])],
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    http_options=types.HttpOptions(headers={"x-thread-id": "thread-1"}),
)
understood: list[Any] = [namespace["reply"].text]

reply = client.models.generate_content(model=MODEL, contents=QUESTION, config=config)
(call,) = reply.function_calls
understood.append([call.name, call.args, reply.usage_metadata.cached_content_token_count])
contents = [
    types.Content(role="user", parts=[types.Part(text=QUESTION)]),
    reply.candidates[0].content,
    types.Content(
        role="user",
        parts=[types.Part.from_function_response(name="get_weather", response={"celsius": 11})],
    ),
]
understood.append(
    client.models.generate_content(model=MODEL, contents=contents, config=config).text
)

stream = client.models.generate_content_stream(model=MODEL, contents=QUESTION, config=config)
understood.append("".join(chunk.text or "" for chunk in stream))

vectors = client.models.embed_content(model="gemini-embedding-001", contents="a text")
understood.append(vectors.embeddings[0].values)
understood.append(client.models.count_tokens(model=MODEL, contents=QUESTION).total_tokens)
try:
    client.models.generate_content(model=MODEL, contents=QUESTION)
except genai.errors.APIError as error:
    understood.append(error.message)
print(json.dumps(understood))
