"""Measures another chat program for terminals with the same provider and the same answer.

The program is Elia (`elia-chat` on PyPI), which draws with Textual too. Treadle does not depend on
it, so install it in an environment of its own:

    python -m venv /tmp/elia && /tmp/elia/bin/pip install elia-chat
    python -m bench.terminal.peer /tmp/elia/bin/elia
"""

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bench.terminal.__main__ import READY, place, provider, row
from bench.terminal.screen import Screen, screen

_PROMPT = "Enter your"
_PROMPT_OF_TREADLE = "Ask about"
_CONTROL_J = "\n"
_SETTINGS = """
default_model = "openai/fake-model"

[[models]]
id = "fake"
name = "openai/fake-model"
display_name = "fake"
provider = "Fake"
api_base = "{address}"
api_key = "key"
"""


def main() -> None:
    """Print the time until the prompt is on the screen, and the times of a long answer."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("elia", help="the path of the program")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--lines", type=int, default=5_000)
    given = parser.parse_args()
    starts: list[float] = []
    treadle: list[float] = []
    with place() as found:
        for _ in range(given.runs):
            with elia(given.elia) as (shown, began):
                starts.append(1_000 * (shown.wait_for(_PROMPT) - began))
            with found.terminal() as (shown, began):
                treadle.append(1_000 * (shown.wait_for(_PROMPT_OF_TREADLE) - began))
        print("| start until the prompt is on the screen | median (ms) | slowest (ms) |")
        print("|---|---|---|")
        for name, times in (("Treadle", treadle), ("Elia", starts)):
            print(f"| {name} | {median(times):.0f} | {max(times):.0f} |")
        print("\n| an answer streams | lines | processor, first tenth (s) | last tenth (s) "
              "| all (s) | memory (MB) |\n|---|---|---|---|---|---|")  # fmt: skip
        with found.terminal() as (shown, _):
            shown.wait_for(READY)
            time.sleep(3)
            print(row("Treadle", shown, given.lines, shown.type(f"lines {given.lines}\r")))
        with elia(given.elia) as (shown, _):
            shown.wait_for(_PROMPT)
            time.sleep(3)
            shown.type(f"lines {given.lines}")
            time.sleep(3)
            print(row("Elia", shown, given.lines, shown.type(_CONTROL_J)), flush=True)
    load, cores = os.getloadavg()[0], os.cpu_count()
    print(f"\nLoad of the machine at the end: {load:.1f} on {cores} cores.")


@contextmanager
def elia(program: str) -> Iterator[tuple[Screen, float]]:
    """Start Elia with an empty home folder, and with the time of its start."""
    with tempfile.TemporaryDirectory() as folder, provider() as address:
        settings = Path(folder) / "config" / "elia" / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(_SETTINGS.format(address=address))
        environment = {
            **os.environ,
            "HOME": folder,
            "XDG_CONFIG_HOME": f"{folder}/config",
            "XDG_DATA_HOME": f"{folder}/data",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # otherwise it is read from the internet
        }
        with screen([program, "-m", "openai/fake-model"], Path(folder), environment) as started:
            yield started


if __name__ == "__main__":
    main()
