"""`python -m tests.fuzz TARGET [--minutes M] [--keep]`: fuzzes one target, or lists them.

A find goes into the corpus; with `--keep` also the inputs that reached new code.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.fuzz import fuzzer, harness


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("target", choices=harness.names())
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--keep", action="store_true", help="extend the corpus")
    asked = parser.parse_args()
    if not fuzzer.HAS_ATHERIS:
        sys.stderr.write("Fuzzing needs atheris, which has no wheel for this system or Python.\n")
        return 1
    with tempfile.TemporaryDirectory() as working:
        outcome = fuzzer.fuzz(asked.target, round(asked.minutes * 60), Path(working))
        if outcome.find is None and asked.keep:
            fuzzer.minimize(asked.target, Path(working))
    sys.stderr.write(outcome.report)
    if outcome.find is None:
        return 0
    kept = fuzzer.keep_find(asked.target, outcome.find)
    sys.stderr.write(f"\nThe input that broke {asked.target} is {kept}.\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
