"""A session of Treadle, as the application runs it without the recorder and the store."""

from pathlib import Path

from bench.runtime.measuring import TURNS, echoed, run
from treadle.config.model import ProviderSettings, ToolSettings
from treadle.events import EventBus
from treadle.ids import new_id
from treadle.llm.client import HttpChatModel
from treadle.llm.endpoint import Endpoint
from treadle.session import Conversation, RequestSession
from treadle.tools.contract import Arguments, Registry, Result, Tool, ToolContext
from treadle.tools.executor import ToolExecutor


class EchoArguments(Arguments):
    text: str


class EchoResult(Result):
    type: str = "echo"
    text: str


class Echo(Tool[EchoArguments, EchoResult]):
    name = "echo"
    description = "Say it."
    arguments = EchoArguments
    result = EchoResult

    async def run(
        self,
        arguments: EchoArguments,
        context: ToolContext,  # noqa: ARG002  (the contract)
    ) -> EchoResult:
        return EchoResult(text=echoed(arguments.text))


async def session(url: str) -> str:
    bus, registry = EventBus(), Registry([Echo()])
    model = HttpChatModel(Endpoint("fake", "fake-model", url, settings=ProviderSettings()))
    async with ToolExecutor(bus, registry, Path("/")) as executor:
        request = RequestSession(
            executor=executor,
            model=model,
            registry=registry,
            conversation=Conversation(new_id(), "/", "fake-model", 0, 0),
            settings=ToolSettings(max_turns=TURNS + 1, max_concurrent=16),
            stream=False,
        )
        outcome = await request.run("Go")
    await model.close()
    return outcome.text


if __name__ == "__main__":
    run(session)
