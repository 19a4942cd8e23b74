from scripts.write_tool_reference import PAGE, registry, with_reference


def test_the_page_of_tools_is_current() -> None:
    page = PAGE.read_text("utf-8")
    assert with_reference(page, registry()) == page, "run `make docs`"


def test_every_tool_and_argument_is_described() -> None:
    for tool in registry().specs():
        assert len(tool.description) > 80
        for name, field in tool.parameters["properties"].items():
            assert field.get("description"), f"{tool.name}.{name}"
