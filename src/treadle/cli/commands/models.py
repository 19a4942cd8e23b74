"""`treadle models`: list the models in reach, test one."""

import argparse
import asyncio
import os

from treadle.cli.command import Command, repository
from treadle.cli.output import print_json, say, table, tell
from treadle.config.loader import load
from treadle.config.model import Settings
from treadle.errors import ExitStatus
from treadle.llm import ModelTest, ProviderModels, check_model, connect, list_models

_SHOWN = 30
"""Models of one provider that are listed; some offer hundreds. `--json` has all."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the two sub-commands."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="what each provider in reach offers")
    test = actions.add_parser("test", help="ask a model one small question with a tool")
    test.add_argument("model", nargs="?", metavar="PROVIDER/MODEL", help="default: the one in use")


def run(options: argparse.Namespace) -> int:
    """Do what the sub-command says."""
    loaded = load(repository(options), os.environ, {})
    for warning in loaded.warnings:
        tell(f"! {warning}")
    if options.action == "test":
        return _test(asyncio.run(_check(loaded.settings, options.model)), options)
    return _list(asyncio.run(list_models(loaded.settings, os.environ)), options)


def _list(found: list[ProviderModels], options: argparse.Namespace) -> int:
    if options.json:
        print_json({"providers": [_provider_json(provider) for provider in found]})
        return ExitStatus.DONE
    rows = []
    for provider in found:
        if provider.error:
            tell(f"! {provider.provider}: {provider.error}")
        for model in provider.models[:_SHOWN]:
            window = f"{model.context_window:,}" if model.context_window else ""
            rows.append((f"{provider.provider}/{model.id}", window))
        if (more := len(provider.models) - _SHOWN) > 0:
            rows.append((f"{provider.provider}: {more} more (see --json)", ""))
    if not rows:
        tell("No model is in reach. `treadle doctor` says what to do.")
        return ExitStatus.PROVIDER
    say(table(rows, ("MODEL", "WINDOW")))
    return ExitStatus.DONE


async def _check(settings: Settings, name: str | None) -> ModelTest:
    model = await connect(settings, os.environ, model=name)
    try:
        return await check_model(model)
    finally:
        await model.close()


def _test(test: ModelTest, options: argparse.Namespace) -> int:
    if options.json:
        print_json(
            {
                "provider": test.provider,
                "model": test.model,
                "reachable": test.reachable,
                "error": test.error,
                "latency": test.latency,
                "tool_call": test.tool_call,
            }
        )
    elif not test.reachable:
        tell(f"{test.provider}/{test.model}: {test.error}")
    else:
        called = "called the tool" if test.tool_call else "answered without calling the tool"
        say(f"{test.provider}/{test.model}: {called}, {test.latency:.2f} s")
    return ExitStatus.DONE if test.reachable else ExitStatus.PROVIDER


def _provider_json(provider: ProviderModels) -> dict[str, object]:
    return {
        "provider": provider.provider,
        "base_url": provider.base_url,
        "reachable": provider.reachable,
        "error": provider.error,
        "latency": provider.latency,
        "models": [{"id": m.id, "context_window": m.context_window} for m in provider.models],
    }


COMMAND = Command("List the models in reach, test one.", configure, run)
