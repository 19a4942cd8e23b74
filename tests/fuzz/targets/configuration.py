"""A repository's own configuration, which comes with a clone."""

import os
import tempfile
from pathlib import Path

from treadle.config.loader import load
from treadle.errors import ConfigError

REFUSALS = (ConfigError,)
SEEDS = (
    b'model = "openai/x"\n[providers.a]\nbase_url = "http://127.0.0.1:1/v1"\nmodels = ["m"]\n',
    b'[approvals]\ndeny = ["* path=secrets/"]\nask = ["run_check command=npm *"]\n',
    b'[checks.commands.unit]\ncommand = ["pytest", "-q"]\nkind = "test"\ntimeout = 5.0\n',
    b"[tools]\ntimeout = 3e1\nmax_concurrent = 8\n[limits]\ncost = 1\n",
    b'trusted_roots = ["/a"]\n[edits]\nauto_approve = ["**"]\n',
    b"[a]\nb.c.d = 1979-05-27T07:32:00Z\n",
)
WORDS = (b"[providers.", b"[[", b"base_url", b'"""', b"1e999", b"inf", b"[approvals]")

_FOLDER = Path(tempfile.mkdtemp())
_FILE = _FOLDER / "root" / ".treadle" / "config.toml"


def parse(data: bytes) -> None:
    os.environ["TREADLE_HOME"] = str(_FOLDER)
    _FILE.parent.mkdir(parents=True, exist_ok=True)
    _FILE.write_bytes(data)
    load(_FOLDER / "root", {}, {})
