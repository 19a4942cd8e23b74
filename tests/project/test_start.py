"""What a start costs: counted in modules, since wall time says more about the machine."""

import subprocess
import sys

HEAVY = {
    "genai_prices", "httpx2", "keyring", "numpy", "openai", "pydantic", "re2", "rich",
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
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "commands:" in done.stdout
    assert HEAVY & set(done.stderr.split()) == set()
