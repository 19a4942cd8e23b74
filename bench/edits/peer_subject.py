"""Runs inside the environment of other tools: their results for the tasks.

Standard input is JSON, {"tool", "tasks": [[bytes in base64, text, …], …]}. Standard output is a
list with the resulting bytes in base64, or null if the tool refused or left the file unchanged.
Each tool reads and writes the file in its own way if it has one, otherwise as UTF-8.
"""

import base64
import contextlib
import importlib
import io
import json
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

PATH = "file"
FENCE = ("```", "```")


class RefusedError(Exception):
    """The tool refuses the edit."""


def stub(name: str, **values: Any) -> None:
    """Replaces a module that imports what an edit does not need (chats, models, screens)."""
    module = types.ModuleType(name)
    module.__dict__.update(values)
    sys.modules[name] = module


def aider(module: str) -> Any:
    """One of aider's edit formats, without the chat around it."""
    found = importlib.import_module("aider")
    package = types.ModuleType("aider.coders")
    package.__path__ = [str(Path(found.__file__ or "").parent / "coders")]
    sys.modules["aider.coders"] = package
    stub("aider.utils", GitTemporaryDirectory=None)
    stub("aider.coders.base_coder", Coder=object)
    return importlib.import_module(f"aider.coders.{module}")


def as_aider(edit: Callable[[str, str], str | None], data: bytes) -> bytes:
    """Read and written like aider: text mode, with the line ends of the platform."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / PATH
        path.write_bytes(data)
        text = path.read_text("utf-8")
        result = edit(str(path), text)
        if not result:
            raise RefusedError
        path.write_text(result, "utf-8")
        return path.read_bytes()


def aider_replace(data: bytes, old: str, new: str) -> bytes:
    module = aider("editblock_coder")
    return as_aider(lambda name, text: module.do_replace(name, text, old, new, FENCE), data)


def aider_udiff(data: bytes, patch: str) -> bytes:
    module = aider("udiff_coder")

    def edit(name: str, text: str) -> str | None:
        result: str | None = text
        for _, hunk in module.find_diffs(f"```diff\n{patch}```\n"):
            result = module.do_replace(name, result, module.normalize_hunk(hunk))
            if not result:
                return None
        return result

    return as_aider(edit, data)


def aider_patch(data: bytes, patch: str) -> bytes:
    module = aider("patch_coder")
    coder = module.PatchCoder.__new__(module.PatchCoder)

    def edit(_name: str, text: str) -> str | None:
        parsed = coder._parse_patch_text(  # noqa: SLF001  # aider's own
            patch.splitlines(), 1, {PATH: text}
        )
        result: str = coder._apply_update(  # noqa: SLF001
            text, parsed.actions[PATH], PATH
        )
        return result

    return as_aider(edit, data)


def codex_patch(data: bytes, patch: str) -> bytes:
    module = importlib.import_module("codex_apply_patch")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path(PATH).write_bytes(data)
        module.apply_patch(patch)
        return Path(PATH).read_bytes()


def edit_block(data: bytes, old: str, new: str) -> bytes:
    module = importlib.import_module("apply_edit_block")
    result = module.apply_edit(data.decode(), module.Edit(old, new))
    if not result.ok:
        raise RefusedError
    text: str = result.text
    return text.encode()


def purepatch_edit(data: bytes, old: str, new: str) -> bytes:
    result: str = importlib.import_module("purepatch").apply_edit(data.decode(), old, new)
    return result.encode()


def purepatch_diff(data: bytes, patch: str) -> bytes:
    result: str = importlib.import_module("purepatch").apply(patch, data.decode())
    return result.encode()


def whatthepatch_diff(data: bytes, patch: str) -> bytes:
    module = importlib.import_module("whatthepatch")
    (diff,) = module.parse_patch(patch)
    lines = module.apply_diff(diff, data.decode())
    return "".join(f"{line}\n" for line in lines).encode()


def patch_ng_diff(data: bytes, patch: str) -> bytes:
    module = importlib.import_module("patch_ng")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / PATH
        path.write_bytes(data)
        patches = module.fromstring(patch.encode())
        if not patches or not patches.apply(root=folder, strip=0):
            raise RefusedError
        return path.read_bytes()


def command(*arguments: str) -> Callable[[bytes, str], bytes]:
    """A program that patches the file in its folder."""

    def run(data: bytes, patch: str) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / PATH
            path.write_bytes(data)
            done = subprocess.run(
                arguments, cwd=folder, input=patch.encode(), capture_output=True, check=False
            )
            if done.returncode:
                raise RefusedError
            return path.read_bytes()

    return run


TOOLS: dict[str, Callable[..., bytes]] = {
    "aider search/replace": aider_replace,
    "aider udiff": aider_udiff,
    "aider patch": aider_patch,
    "codex-apply-patch": codex_patch,
    "apply-edit-block": edit_block,
    "purepatch edit": purepatch_edit,
    "purepatch diff": purepatch_diff,
    "whatthepatch": whatthepatch_diff,
    "patch-ng": patch_ng_diff,
    "git apply": command("git", "apply", "-"),
    "GNU patch": command("patch", "-p1", "--batch", "--quiet"),
}


def main() -> None:
    asked = json.load(sys.stdin)
    tool = TOOLS[asked["tool"]]
    results: list[str | None] = []
    failures: dict[str, int] = {}
    for data, *texts in asked["tasks"]:
        before = base64.b64decode(data)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                result = tool(before, *texts)
        except ImportError:
            raise
        except Exception as error:  # noqa: BLE001  # whatever a tool raises is its refusal
            name = type(error).__name__
            failures[name] = failures.get(name, 0) + 1
            result = before
        results.append(None if result == before else base64.b64encode(result).decode())
    print(json.dumps({"results": results, "failures": failures}))


if __name__ == "__main__":
    main()
