"""Calls the gateway with Anthropic's client, and prints what the client understood."""

import json
import os
from typing import Any

namespace: dict[str, Any] = {}
exec(os.environ["LINES_OF_PAGE"], namespace)
anthropic = namespace["anthropic"]
client = namespace["client"].with_options(max_retries=0)
MODEL = "claude-haiku-5-5"
TOOL = {
    "name": "get_weather",
    "description": "The weather of a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}
SYSTEM = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
ask: dict[str, Any] = {
    "model": MODEL,
    "max_tokens": 2_000,
    "system": SYSTEM,
    "tools": [TOOL],
    "metadata": {"user_id": "alice"},
    "thinking": {"type": "enabled", "budget_tokens": 1_024},
    "extra_headers": {"x-thread-id": "thread-1"},
}
question = {"role": "user", "content": "How is the weather in Zürich?"}
understood: list[Any] = [namespace["reply"].content[0].text]

reply = client.messages.create(messages=[question], **ask)
call = next(block for block in reply.content if block.type == "tool_use")
understood.append([call.name, call.input, reply.usage.cache_read_input_tokens])
result = {
    "type": "tool_result",
    "tool_use_id": call.id,
    "content": [{"type": "text", "text": '{"celsius": 11}'}],
}
messages = [
    question,
    {"role": "assistant", "content": [block.model_dump() for block in reply.content]},
    {"role": "user", "content": [result, {"type": "text", "text": "Answer in one sentence."}]},
]
understood.append(client.messages.create(messages=messages, **ask).content[0].text)

with client.messages.stream(messages=[question], **ask) as stream:
    for _event in stream:
        pass
    final = stream.get_final_message()
understood.append([final.content[2].input, final.usage.output_tokens])

counted = client.messages.count_tokens(model=MODEL, messages=[question])
understood.append(counted.input_tokens)
try:
    client.messages.create(model=MODEL, max_tokens=10, messages=[question])
except anthropic.RateLimitError as error:
    understood.append(error.body["error"]["message"])
print(json.dumps(understood))
