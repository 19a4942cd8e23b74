from scripts.write_tool_reference import PAGE, reference, registry


def test_the_page_of_tools_is_current() -> None:
    assert reference(registry()) == PAGE.read_text("utf-8"), "run `make docs`"


def test_every_tool_and_argument_is_described() -> None:
    for tool in registry().specs():
        assert len(tool.description) > 80
        for name, field in tool.parameters["properties"].items():
            assert field.get("description"), f"{tool.name}.{name}"
