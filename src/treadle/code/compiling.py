"""Whether Python can be compiled, found out in a process of its own.

The compiler finds what the grammar lets pass: an empty body, a wrong indentation, `return`
outside of a function. Hostile text can exhaust its stack or memory, so it never runs in this
process. Nothing of the text is executed, and no bytecode is written.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

_SECONDS = 10
_MEMORY = 1 << 30
_MAX_BYTES = 2_000_000
_CHILD = f"""
import json, sys, warnings
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, ({_MEMORY}, {_MEMORY}))
    resource.setrlimit(resource.RLIMIT_CPU, ({_SECONDS}, {_SECONDS}))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (ImportError, OSError, ValueError):
    pass
warnings.simplefilter("ignore")
found = []
for size in map(int, sys.argv[1:]):
    source = sys.stdin.buffer.read(size)
    try:
        compile(source, "<edit>", "exec", dont_inherit=True)
    except SyntaxError as error:
        found.append([error.lineno or 1, str(error.msg)])
    except ValueError as error:
        found.append([1, str(error)])
    else:
        found.append(None)
print(json.dumps(found))
"""


class CompileError(NamedTuple):
    """The first error of the compiler, at a line from 1."""

    line: int
    message: str


def compile_errors(sources: Sequence[bytes]) -> tuple[CompileError | None, ...] | None:
    """The first error of each source; None where the compiler cannot tell within its limits."""
    if not sys.executable or any(len(source) > _MAX_BYTES for source in sources):
        return None
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-B", "-c", _CHILD, *(str(len(each)) for each in sources)],
            input=b"".join(sources),
            capture_output=True,
            timeout=_SECONDS,
            check=True,
            env={},
        )
        found = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return tuple(each and CompileError(*each) for each in found)
