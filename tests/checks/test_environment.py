"""The environment of a check."""

from pathlib import Path

import pytest

from tests.checks.projects import Project
from treadle.checks.environment import in_copy
from treadle.processes.environment import program_environment


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
        "DB_PASSWORD", "PGPASSWORD", "TREADLE_API_KEY", "TREADLE_SERVE_TOKEN",
        "npm_config_authtoken", "SECRET",
        "GOOGLE_APPLICATION_CREDENTIALS", "GH_PAT", "TOKENS", "apiKey_x", "SSH_PASS",
        "SESSION_COOKIE",
    ],
)  # fmt: skip
def test_keys_are_recognized_by_name(tmp_path: Path, name: str) -> None:
    given = program_environment({name: "x"}, tmp_path)
    assert name not in given.variables
    assert given.withheld == (name,)
    assert program_environment({name: "x"}, tmp_path, keep=[name]).variables[name] == "x"


@pytest.mark.parametrize(
    "name",
    [
        "HOME", "LANG", "PWD", "OLDPWD", "SSH_AUTH_SOCK", "KEYBOARD", "XDG_CACHE_HOME", "PASSES",
        "TOKENIZERS_PARALLELISM", "MONKEY", "CARGO_HOME", "DISPLAY", "COMPASS_DIR", "PATTERN",
    ],
)  # fmt: skip
def test_ordinary_names_are_not_keys(tmp_path: Path, name: str) -> None:
    assert program_environment({name: "x"}, tmp_path).withheld == ()


def test_keys_are_recognized_by_their_form_and_the_settings(tmp_path: Path) -> None:
    given = program_environment(
        {
            "OPENAI": "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789",
            "DATABASE": "postgres://me:s3cr3tW0rd@db.example/x",
            "MY_ROUTER": "nothing that looks like one",
            "PLAIN": "value",
        },
        tmp_path,
        secret={"MY_ROUTER"},
    )
    assert given.withheld == ("DATABASE", "MY_ROUTER", "OPENAI")
    assert given.variables["PLAIN"] == "value"


def test_the_projects_own_programs_come_first(project: Project) -> None:
    project.write(".venv/bin/python", "")
    project.write("node_modules/.bin/tsc", "")
    given = program_environment(
        {"PATH": ".:/usr/bin::bin:/bin", "PYTHONHOME": "/x", "FORCE_COLOR": "1"}, project.root
    )
    root = project.root
    assert given.variables["PATH"] == f"{root}/.venv/bin:{root}/node_modules/.bin:/usr/bin:/bin"
    assert given.variables["VIRTUAL_ENV"] == f"{root}/.venv"
    assert given.variables["CI"] == "true"
    assert {"PYTHONHOME", "FORCE_COLOR"}.isdisjoint(given.variables)


def test_without_a_project_environment_the_current_one_is_used(project: Project) -> None:
    given = program_environment({"PATH": "/usr/bin", "VIRTUAL_ENV": "/v"}, project.root)
    assert given.variables["PATH"] == "/usr/bin"
    assert given.variables["VIRTUAL_ENV"] == "/v"


def test_python_imports_the_copy_in_a_copy(project: Project, tmp_path: Path) -> None:
    root, tree, elsewhere = project.root, tmp_path / "copy", tmp_path / "elsewhere"
    for folder in ("src", "lib", "plugins", "flat"):
        (tree / folder).mkdir(parents=True)
    elsewhere.mkdir()
    site = root / ".venv/lib/python3.11/site-packages"
    site.mkdir(parents=True)
    (site / "editable.pth").write_text(f"import x\n{root}/lib\n{elsewhere}\n{root}/gone\n")
    (site / "__editable___x_1_0_finder.py").write_text(
        f"MAPPING: dict[str, str] = {{'x': '{root}/flat/x', 'y': '/elsewhere/y'}}\n"
    )
    given = in_copy(
        {"PYTHONPATH": f"{root}/plugins:{elsewhere}", "VIRTUAL_ENV": str(root / ".venv")},
        root,
        tree,
    )
    assert given["PYTHONPATH"] == f"{tree}/plugins:{elsewhere}:{tree}/lib:{tree}/flat:{tree}/src"
