"""Keys that terminals send and Textual does not know."""

from types import SimpleNamespace
from typing import Any, cast

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS


def recognize_alt_enter() -> None:
    """Let Alt+Enter be a key of its own. Textual reads it as Enter, except from some terminals.

    Terminals with the kitty keyboard protocol send Alt+Enter and Shift+Enter as their own keys.
    All other terminals send an escape and a carriage return for Alt+Enter. They send the same
    character for Shift+Enter and Enter.
    """
    sequences = cast("dict[str, Any]", ANSI_SEQUENCES_KEYS)
    sequences["\x1b\r"] = (SimpleNamespace(value="alt+enter"),)
