"""Accessibility violations that axe-core finds on a page."""

from typing import Any

from playwright.sync_api import Page

from tests.project.pages import ROOT

_SOURCE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
_RUN = "axe.run(document, {resultTypes: ['violations']}).then(({violations}) => violations)"
_WEIGHTY = {"serious", "critical"}


def serious_faults(page: Page) -> list[str]:
    """Each serious or critical violation, with the rule and the elements; empty if there is none.

    axe-core is injected like a debugger's script, so the page's content security policy stays in
    force.
    """
    debugger = page.context.new_cdp_session(page)

    def evaluate(expression: str) -> Any:
        parameters = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        answer = debugger.send("Runtime.evaluate", parameters)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    evaluate(_SOURCE.read_text("utf-8") + "; null")
    violations = evaluate(_RUN)
    debugger.detach()
    return [
        f"{each['id']} ({each['impact']}): {each['help']}: {node['html'][:200]} at {node['target']}"
        for each in violations
        if each["impact"] in _WEIGHTY
        for node in each["nodes"]
    ]
