"""The option of the command line for the mode of a conversation."""

import argparse

from treadle.events.types import Mode


def add_mode_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for the mode of the conversation."""
    parser.add_argument(
        "--read-only",
        action=argparse.BooleanOptionalAction,
        help="set the mode of the conversation: with --read-only, no tool writes or runs anything",
    )


def chosen_mode(options: argparse.Namespace) -> Mode | None:
    """Return the mode that the person chose, or None to keep the mode of the conversation."""
    chosen: bool | None = options.read_only
    if chosen is None:
        return None
    return Mode.READ_ONLY if chosen else Mode.NORMAL
