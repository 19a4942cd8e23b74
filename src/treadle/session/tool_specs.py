"""The tools of a session as its model receives them."""

from treadle.llm.messages import ToolSpec
from treadle.tools.contract import Registry, ToolSchema
from treadle.tools.schemas import schema_for_model


def tool_specs(registry: Registry, *, brief: bool = False) -> tuple[ToolSpec, ...]:
    """Return the tools in the form for a model. `brief` selects the form for small windows."""
    return tuple(_spec(schema, brief=brief) for schema in registry.specs())


def _spec(schema: ToolSchema, *, brief: bool) -> ToolSpec:
    """Return one tool. The brief form has only the first sentence of the description."""
    description = schema.description
    if brief:
        description = description.partition(". ")[0].removesuffix(".") + "."
    return ToolSpec(schema.name, description, schema_for_model(schema.parameters, brief=brief))
