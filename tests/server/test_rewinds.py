"""Rewinds, permissions and the choices of a question over HTTP."""

from pathlib import Path
from typing import Any

from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call
from tests.server.serving import Served, serving

OLD, NEW = "return left + right", "return left - right"
EDIT = Call(
    "apply_code_edit", {"edits": [{"file": "calc.py", "replace": {"old": OLD, "new": NEW}}]}
)


async def edited(served: Served) -> tuple[str, list[dict[str, Any]]]:
    """The id of a conversation whose edit was allowed for the session, and the choices for it."""
    choices: list[dict[str, Any]] = []
    async with served.http.stream("GET", "/api/v1/events", params={"approve": True}) as events:
        turn = await served.post("/turns", {"text": "Subtract instead."})
        async for line in events.aiter_lines():
            if '"ApprovalRequested"' in line:
                (pending,) = (await served.get("/approvals"))["data"]
                question = pending["approval_id"]
                choices = (await served.get(f"/approvals/{question}/choices"))["data"]
                await served.post(f"/approvals/{question}", {"scope": "session"})
                assert (await served.ended(turn["request_id"]))["state"] == "done"
                break
    return turn["session_id"], choices


async def test_rewind_and_permissions_of_a_turn(repo: Path) -> None:
    file = repo / "calc.py"
    before = file.read_text()
    async with FakeProvider([Answer("", (EDIT,)), Answer("Done.")]) as provider:
        env = {"TREADLE_BASE_URL": provider.base_url, "TREADLE_API_KEY": "k" * 12}
        async with serving(repo, **env) as served:
            session, choices = await edited(served)
            assert [each["scope"] for each in choices] == ["once", "session", "always", "denied"]
            assert "edit calc.py with apply_code_edit" in choices[1]["sentence"]
            await _check_permissions(served, session)

            assert file.read_text() == before.replace(OLD, NEW)
            here = f"/sessions/{session}/rewind"
            plan = await served.get(here, prompt=0)
            assert [each["sentence"] for each in plan["files"]] == ["calc.py is reverted."]
            assert (plan["text"], plan["head"], plan["conflicts"]) == (
                "Subtract instead.", None, [],
            )  # fmt: skip
            done = await served.post(here, {"prompt": 0})
            assert done["text"] == "Subtract instead."
            assert file.read_text() == before
            assert (await served.get(f"/sessions/{session}"))["branch"] == []

            assert (await served.get(f"{here}/undo"))["files"][0]["path"] == "calc.py"
            await served.post(f"{here}/undo")
            assert file.read_text() == before.replace(OLD, NEW)
            assert (await served.http.post(f"/api/v1{here}/undo")).status_code == 404

            file.write_text(before.replace(OLD, "return 3"))
            refused = await served.http.post(f"/api/v1{here}", json={"prompt": 0})
            assert refused.status_code == 409
            assert "calc.py" in refused.json()["error"]["message"]
            assert file.read_text() == before.replace(OLD, "return 3")


async def _check_permissions(served: Served, session: str) -> None:
    (permission,) = (await served.get("/permissions", conversation_id=session))["data"]
    assert permission["sentence"] == "Edit calc.py with apply_code_edit in this conversation."
    assert (await served.http.delete("/api/v1/permissions/session-99")).status_code == 404
    answer = await served.http.delete(f"/api/v1/permissions/{permission['id']}")
    assert answer.json() == {"revoked": 1}
    assert (await served.get("/permissions"))["data"] == []
    assert (await served.http.delete("/api/v1/permissions")).json() == {"revoked": 0}
