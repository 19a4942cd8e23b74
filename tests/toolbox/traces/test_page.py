from scripts.write_analyst_tools import PAGE, with_answers
from treadle.toolbox.traces import ANALYST_TOOLS


def test_documentation_has_the_real_answer_of_each_tool() -> None:
    page = PAGE.read_text("utf-8")
    assert with_answers(page) == page, "run `make docs`"
    assert all(f"\n## {name}\n" in page and f"call {name} " in page for name in ANALYST_TOOLS)
