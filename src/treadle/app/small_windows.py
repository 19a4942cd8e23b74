"""Which tools and which prompt a model is given, by the size of its window.

One rule: the system prompt and the schemas of the tools take at most a quarter of the window.
Where they take more, the prompt is the brief one, and tools are offered in the order below as long
as they fit.
"""

from treadle.llm.messages import ToolSpec
from treadle.session.history import tools_tokens
from treadle.session.prompts import assistant_for, brief_prompt, system_prompt
from treadle.session.role import Role
from treadle.tokens import estimate
from treadle.tools.registry import AnyTool, Registry

SHARE = 4
"""The prompt and the schemas take at most one part in so many of the window."""

ORDER = (
    "request_code_context", "read_file", "grep", "apply_code_edit", "apply_patch", "create_file",
    "list_dir", "run_check", "code_item_lookup", "code_item_edges", "get_file_metadata",
    "delete_file", "rename_file",
)  # fmt: skip
"""What an assistant for a repository needs most comes first; tools of front ends come last."""


def fitted(root: str, tools: Registry, context_window: int) -> tuple[Registry, Role]:
    """The tools to offer, in their own order, and the role whose prompt speaks of them."""
    room = context_window // SHARE
    whole = estimate(system_prompt(root, tools.names()))
    if whole + sum(map(_tokens, tools)) <= room:
        return tools, assistant_for(root, tools.names())
    room -= estimate(brief_prompt(root, tools.names()))
    chosen: set[str] = set()
    for tool in sorted(tools, key=_rank):
        tokens = _tokens(tool)
        if tokens <= room:
            chosen.add(tool.name)
            room -= tokens
    offered = tools.only(chosen)
    return offered, assistant_for(root, offered.names(), brief=True)


def _rank(tool: AnyTool) -> int:
    return ORDER.index(tool.name) if tool.name in ORDER else len(ORDER)


def _tokens(tool: AnyTool) -> int:
    (spec,) = Registry([tool]).specs()
    return tools_tokens([ToolSpec(spec.name, spec.description, spec.parameters)])
