from scripts.write_analyst_tools import PAGE, with_answers
from tests.toolbox.traces.recordings import Recordings
from treadle.toolbox.traces import trace_tools


def test_documentation_has_the_real_answer_of_each_tool(recordings: Recordings) -> None:
    names = [tool.name for tool in trace_tools(recordings.store)]
    page = PAGE.read_text("utf-8")
    assert with_answers(page) == page, "run `make docs`"
    assert all(f"\n## {name}\n" in page and f"call {name} " in page for name in names)
