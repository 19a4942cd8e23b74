"""The real llama.cpp server over HTTP, with a chat template that can call tools.

SmolLM2's own template has no tools, and the model is too small to follow a description of them.
This template shows three example calls of the first context tool instead, which it copies reliably
at temperature 0. After a tool result it leaves the tools out, and the model answers in text.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from treadle.llm.embedded import start_server

TEMPLATE = r"""
{%- set ns = namespace(system='', tool=none) -%}
{%- if messages[0].role == 'system' -%}{%- set ns.system = messages[0].content -%}{%- endif -%}
{%- if tools and messages[-1].role == 'user' -%}
  {%- set ns.tool = tools[0] -%}
  {%- for tool in tools if tool.function.name == 'request_code_context' -%}
    {%- set ns.tool = tool -%}
  {%- endfor -%}
{%- endif -%}
{%- if ns.tool -%}
  {{- '<|im_start|>system\nAnswer with a tool call.\n' + (ns.tool | tojson) + '<|im_end|>\n' }}
  {%- for example in ['Where is the parser?', 'How does saving work?', 'What reads files?'] %}
    {{- '<|im_start|>user\n' + example + '<|im_end|>\n<|im_start|>assistant\n<tool_call>\n' }}
    {{- '{"name": "' + ns.tool.function.name + '", "arguments": {"token_budget": 800}}' }}
    {{- '\n</tool_call><|im_end|>\n' }}
  {%- endfor %}
{%- else -%}
  {{- '<|im_start|>system\n' + ns.system + '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
  {%- if message.role == 'user' %}
    {{- '<|im_start|>user\n' + message.content + '<|im_end|>\n' }}
  {%- elif message.role == 'assistant' %}
    {{- '<|im_start|>assistant\n' }}
    {%- if message.content %}{{- message.content }}{%- endif %}
    {%- for call in message.tool_calls or [] %}
      {{- '<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' }}
      {{- (call.function.arguments | tojson) + '}\n</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\n' }}
  {%- elif message.role == 'tool' %}
    {{- '<|im_start|>user\n<tool_response>\n' + message.content }}
    {{- '\n</tool_response><|im_end|>\n' }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}"""


STRICT_TEMPLATE = (
    r"""
{%- set ns = namespace(index=0) -%}
{%- for message in messages if message.role in ['user', 'assistant'] and not message.tool_calls %}
  {%- if (message.role == 'user') != (ns.index % 2 == 0) %}
    {{- raise_exception('After the optional system message, conversation roles must alternate '
      + 'user and assistant roles except for tool calls and results.') }}
  {%- endif %}
  {%- set ns.index = ns.index + 1 %}
{%- endfor %}"""
    + TEMPLATE
)
"""The same with the check that templates of Mistral models make."""


@contextmanager
def llama_server(template: str = TEMPLATE) -> Iterator[str]:
    """The base URL of a running server, including the version. Needs the embedded model's
    packages.
    """
    server = start_server(chat_template=template, longest_reply=120)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server
