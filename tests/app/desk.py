"""An application over a small repository, and an assistant with a model in process."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from tests.fakes.model import FakeModel, Say
from treadle.app.application import App, Toolset, open_app
from treadle.app.assistant import Assistant
from treadle.app.choices import Choices
from treadle.config.model import ApprovalSettings, ContextSettings, Settings
from treadle.ids import new_id
from treadle.llm.messages import AttachedText, UserMessage
from treadle.session import SessionOutcome
from treadle.session.attachments import Attachment

ADD = "def add(left, right):\n    return left + right\n"
CODE = ADD + "\n\nclass Sum:\n    def of(self):\n        pass\n"


@dataclass(slots=True)
class Desk:
    """An application over a small repository."""

    app: App
    root: Path

    async def ask(self, *attachments: Attachment) -> tuple[FakeModel, SessionOutcome]:
        """Ask one question with attachments."""
        model = FakeModel(Say("Fine."))
        assistant = Assistant(self.app, Choices(), model)
        attached = await assistant.attach(attachments, None)
        conversation = await assistant.conversation()
        session = await assistant.session(conversation, new_id())
        return model, await session.run("Why?", attached)

    async def sent(self, *attachments: Attachment) -> tuple[AttachedText, ...]:
        """The attached texts in the request that the model received."""
        model, _ = await self.ask(*attachments)
        message = model.requests[0].messages[-1]
        assert isinstance(message, UserMessage)
        assert message.text == "Why?"
        return message.attached


@pytest_asyncio.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TREADLE_CONTEXT__EMBEDDER", "none")
    root = tmp_path / "repo"
    root.mkdir()
    (root / "calc.py").write_text(CODE)
    (root / "other.py").write_text("class Other:\n    def of(self):\n        return 1\n")
    (root / ".env").write_text("PASSWORD=x\n")
    chosen = Settings(
        context=ContextSettings(automatic="off"),
        approvals=ApprovalSettings(deny=["read_file path=other.py"]),
    )
    async with open_app(root, settings=chosen, env={}, toolset=Toolset.CODE) as app:
        yield Desk(app, root)
