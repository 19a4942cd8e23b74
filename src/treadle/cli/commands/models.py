"""The command `treadle models`: lists models, tests a model, and stores API keys."""

import argparse
import asyncio
import os
import sys

from treadle.cli.command import Command, repository
from treadle.cli.output import print_json, print_line, print_text, report, report_line, table
from treadle.config.loader import load
from treadle.config.model import Settings
from treadle.errors import ExitStatus
from treadle.llm import ModelTest, ProviderModels, check_model, connect, list_models, saved_keys
from treadle.llm.saved_keys import KeyLocation

_SHOWN = 30
"""The maximum number of models that the list shows for a provider. `--json` shows all models."""
_LONGEST_LINE = 20_000
"""The maximum number of characters that are read for an API key."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands to the parser."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="list the models of each available provider")
    test = actions.add_parser("test", help="send a small question and a tool to a model")
    test.add_argument(
        "model",
        nargs="?",
        metavar="PROVIDER/MODEL",
        help="the model (default: the configured model)",
    )
    key = actions.add_parser("key", help="store or delete the API key of a provider")
    todo = key.add_subparsers(dest="key_action", required=True, metavar="ACTION")
    keep = todo.add_parser("set", help="store a key, read from a prompt or from standard input")
    keep.add_argument("provider", metavar="PROVIDER")
    delete = todo.add_parser("delete", help="delete the stored key")
    delete.add_argument("provider", metavar="PROVIDER")


def run(options: argparse.Namespace) -> int:
    """Run the chosen sub-command, and return the exit status."""
    loaded = load(repository(options), os.environ, {})
    for warning in loaded.warnings:
        report_line(f"! {warning}")
    if options.action == "key":
        return _key(loaded.settings, options)
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
            report_line(f"! {provider.provider}: {provider.error}")
        for model in provider.models[:_SHOWN]:
            window = f"{model.context_window:,}" if model.context_window else ""
            rows.append((f"{provider.provider}/{model.id}", window))
        if (more := len(provider.models) - _SHOWN) > 0:
            rows.append((f"{provider.provider}: {more} more (see --json)", ""))
    if not rows:
        report("No model is available. `treadle doctor` reports the reason.")
        return ExitStatus.PROVIDER
    print_text(table(rows, ("MODEL", "WINDOW")))
    return ExitStatus.DONE


def _key(settings: Settings, options: argparse.Namespace) -> int:
    from treadle.llm.provider_states import KeyState, forget_key, save_key, state_of

    provider: str = options.provider
    if options.key_action == "delete":
        gone = forget_key(settings, os.environ, provider)
        if options.json:
            print_json({"provider": provider, "deleted": gone})
        else:
            print_text(
                f"The key of {provider} is deleted." if gone else f"No key of {provider} is stored."
            )
        return ExitStatus.DONE
    location = save_key(settings, os.environ, provider, _read_key(provider))
    state = state_of(settings, os.environ, provider)
    if options.json:
        print_json({"provider": provider, "kept": location, "base_url": state.base_url})
        return ExitStatus.DONE
    file = saved_keys.path(settings.folder)
    where = "the system keyring" if location is KeyLocation.KEYRING else str(file)
    print_text(f"The key of {provider} for {state.base_url} is stored in {where}.")
    if state.key is KeyState.ENVIRONMENT:
        report(f"! {state.key_name} is set and overrides the stored key.")
    return ExitStatus.DONE


def _read_key(provider: str) -> str:
    """Read an API key from a hidden prompt, or from standard input.

    The command has no argument for the key, because other programs can read the arguments of a
    command.
    """
    if sys.stdin.isatty():
        import getpass

        return getpass.getpass(f"Key of {provider}: ")
    return sys.stdin.readline(_LONGEST_LINE)


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
        report_line(f"{test.provider}/{test.model}: {test.error}")
    else:
        called = "called the tool" if test.tool_call else "answered without calling the tool"
        print_line(f"{test.provider}/{test.model}: {called}, {test.latency:.2f} s")
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


COMMAND = Command("List the available models, test a model, and manage API keys.", configure, run)
