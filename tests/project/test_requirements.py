"""The locked requirements: complete, hashed, free of addresses, under permissive licences."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.project.pages import ROOT

FILES = sorted((ROOT / "requirements").glob("*.txt"))
PERMISSIVE = re.compile(
    r"\b(MIT|MIT-0|BSD|0BSD|Apache|ISC|Zlib|CC0|Unlicense|PSF|Python Software Foundation)\b"
    r"|Permission is hereby granted, free of charge",
    re.IGNORECASE,
)
# Weak copyleft per file, used unmodified: the licence makes no demands on other programs.
MPL = {"certifi", "hypothesis", "pathspec"}
# A terminal emulator that only tests start. No program of Treadle contains or loads it.
# The PostgreSQL client is part of the extra `team`: only people who choose PostgreSQL install it,
# unchanged, and it is the client that the makers of PostgreSQL name for Python.
LGPL = {"psycopg", "psycopg-binary", "pyte"}


def pins(path: Path) -> dict[str, Requirement]:
    """The requirements of a file by name."""
    text = re.sub(r"\s*\\\n", " ", path.read_text(encoding="utf-8"))
    lines = [
        line.partition(" --hash")[0] for line in text.splitlines() if line[:1] not in ("", "#")
    ]
    return {canonicalize_name(r.name): r for r in map(Requirement, lines)}


def licence(name: str) -> str:
    """The licence of an installed distribution, from all the places that may state it."""
    metadata = distribution(name).metadata
    classifiers = [c for c in metadata.get_all("Classifier", []) if c.startswith("License ::")]
    named = metadata.get_all("License-Expression", []) + metadata.get_all("License", [])
    said = " | ".join([*(text[:200] for text in named), *classifiers]).strip()
    return said or " ".join((distribution(name).read_text("licenses/LICENSE") or "")[:200].split())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_requirement_is_pinned_and_hashed_without_an_address(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"^-(?!-hash)", text, re.MULTILINE)
    for entry in re.split(r"\n(?=\S)", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).strip()):
        assert re.match(r"[\w.-]+==\S+( ; .*)? \\\n +--hash=sha256:[0-9a-f]{64}", entry), entry


def test_the_lock_matches_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = {
        "run": project["project"]["dependencies"],
        "dev": [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]],
        "web": project["dependency-groups"]["web"],
        "embedded": project["project"]["optional-dependencies"]["embedded"],
        "build": project["build-system"]["requires"],
    }
    for name, requirements in wanted.items():
        locked = pins(ROOT / "requirements" / f"{name}.txt")
        for requirement in map(Requirement, requirements):
            pin = locked.get(canonicalize_name(requirement.name))
            assert pin is not None, f"{requirement} is not in {name}.txt: run `make lock`"
            (version,) = [s.version for s in pin.specifier]
            assert requirement.specifier.contains(version), f"{pin} does not fit {requirement}"


def test_the_same_package_has_one_version_everywhere() -> None:
    seen: dict[str, str] = {}
    for path in FILES:
        for name, pin in pins(path).items():
            assert seen.setdefault(name, str(pin.specifier)) == str(pin.specifier), name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_package_is_under_a_permissive_licence(path: Path) -> None:
    looked_at = 0
    for name, pin in pins(path).items():
        try:
            said = licence(name)
        except PackageNotFoundError:
            # For another platform or Python, uv if the machine has it, or an extra that development
            # does not need.
            elsewhere = pin.marker or name == "uv"
            assert elsewhere, f"{name} is not installed"
            continue
        looked_at += 1
        if path.name == "dev.txt" and name in LGPL:
            continue
        allowed = bool(PERMISSIVE.search(said)) or (name in MPL and "MPL" in said)
        assert allowed, f"{name}: {said or 'no licence named'}"
        assert "GPL" not in said, f"{name}: {said}"
    assert looked_at or path.name == "uv.txt"
