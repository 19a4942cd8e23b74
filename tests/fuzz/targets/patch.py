"""Patches of models, up to the hunks of a file that they become."""

from treadle.edits.model import EditError, splice
from treadle.edits.patches import parse_patch
from treadle.edits.plan import plan

_FILE = "class A:\n    def f(self):\n        return 1\n\n\n# é\ndef g():\r\n    return 2\n".encode()
_LEGACY = "// 表示する\nint a;\nint b;\n".encode("cp932")

REFUSALS = (EditError,)
SEEDS = (
    b"--- a/f\n+++ b/f\n@@ -2,2 +2,2 @@\n     def f(self):\n-        return 1\n+        return 3\n",
    (
        b"diff --git a/f b/g\nsimilarity index 90%\nrename from f\nrename to g\n--- a/f\n+++ b/g\n"
        b"@@ -1,1 +1,1 @@\n-class A:\n+class B:\n"
    ),
    (
        b"diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n"
        b"@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
    ),
    b"--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-class A:\n",
    (
        b"*** Begin Patch\n*** Update File: f\n@@ class A:\n     def f(self):\n-        return 1\n"
        b"+        return 4\n*** Add File: h\n+x\n*** Delete File: j\n*** End Patch\n"
    ),
    "--- a/j\n+++ b/j\n@@ -1,2 +1,2 @@\n // 表示する\n-int a;\n+int 値;\n".encode(),
)
WORDS = (b"@@ ", b"--- a/f\n", b"+++ b/f\n", b"*** Update File: f\n", b"*** Move to: ", b"\r\n")


def parse(data: bytes) -> None:
    files = {"f": _FILE, "j": _LEGACY}
    requests = parse_patch(data.decode("utf-8", "surrogateescape"))
    for change in plan(requests, files.get).changes:
        base = files.get(change.path, b"")
        assert change.hunks or change.target is not None
        splice(base, change.hunks)
