"""What a start costs: counted in modules, since wall time says more about the machine."""

import os
import subprocess
import sys

HEAVY = {
    "genai_prices", "httpx2", "keyring", "mcp", "numpy", "openai", "pydantic", "re2", "rich",
    "sqlite3", "stamina", "tree_sitter", "xllamacpp",
}  # fmt: skip


def test_the_overview_imports_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from treadle.cli.main import main\n"
        "try:\n    main(['--help'])\n"
        "except SystemExit:\n    pass\n"
        "print(*sorted(sys.modules), file=sys.stderr)\n"
    )
    # Without what measures coverage in a started process, which imports modules of its own.
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env
    )
    assert "commands:" in done.stdout
    assert HEAVY & set(done.stderr.split()) == set()
