"""What a file says about its own encoding."""

import re

_HEAD = 2_048
"""Bytes at the beginning of a file in which a declaration counts; HTML asks for 1,024."""

_NAME = rb"([-\w.:+]{1,40})"
_PYTHON = re.compile(rb"^[ \t\f]*#[^\n]{0,200}?coding[:=][ \t]*" + _NAME)
_EMACS = re.compile(rb"-\*-[^\n]{0,200}?\bcoding:[ \t]*" + _NAME + rb"[^\n]{0,200}?-\*-")
_VIM = re.compile(rb"\bvim?:[^\n]{0,200}?\b(?:fileencoding|fenc)=" + _NAME)
_XML = re.compile(rb"\s{0,20}<\?xml[^>]{0,200}?\bencoding\s{0,9}=\s{0,9}[\"']" + _NAME)
_META = re.compile(
    rb"<meta\b[^>]{0,400}?\bcharset\s{0,9}=\s{0,9}[\"']?\s{0,9}" + _NAME, re.IGNORECASE
)
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_CSS = re.compile(rb"@charset \"" + _NAME + rb"\";")
_LATEX = re.compile(rb"^[^%\n]{0,200}\\usepackage\[([-\w]{1,40})\]\{inputenc\}", re.MULTILINE)
_TEX_COMMENT = re.compile(rb"^%\s*!TEX\s+encoding\s*=\s*" + _NAME, re.IGNORECASE | re.MULTILINE)
_GETTEXT = re.compile(
    rb"^(?:msgstr[ \t]{1,9})?\"Content-Type:[^\n]{0,100}?charset=" + _NAME,
    re.IGNORECASE | re.MULTILINE,
)

_JSP = re.compile(
    rb"<%@\s{0,9}page\b[^>]{0,300}?\b(?:pageEncoding\s{0,9}=\s{0,9}[\"']|charset=)" + _NAME
)

_HTML_ENDINGS = (".html", ".htm", ".xhtml", ".shtml", ".jsp", ".asp", ".php", ".erb", ".ejs")
_HASH_ENDINGS = (".py", ".pyi", ".pyw", ".pyx", ".pxd", ".rb", ".rake", ".gemspec")
_CSS_ENDINGS = (".css", ".scss", ".sass", ".less")
_TEX_ENDINGS = (".tex", ".sty", ".cls", ".bib")
_GETTEXT_ENDINGS = (".po", ".pot")

_UNDECIDED = frozenset({"undecided", "raw-text", "prefer-utf-8", "no-conversion", "binary"})
"""What Emacs takes for "look at the bytes"."""


def declared_label(path: str, data: bytes) -> str | None:
    """The encoding that the file names in its own text, as it is written there."""
    head = data[:_HEAD]
    name = path.lower()
    lines = head.split(b"\n", 2)[:2]
    found = _XML.match(head)
    if found is None and name.endswith(_HASH_ENDINGS):
        found = _in_first_lines(lines)
    if found is None and name.endswith(_HTML_ENDINGS):
        found = _JSP.search(head) or _META.search(_COMMENT.sub(b"", head))
    if found is None and name.endswith(_CSS_ENDINGS):
        found = _CSS.match(head)
    if found is None and name.endswith(_TEX_ENDINGS):
        found = _TEX_COMMENT.search(head) or _LATEX.search(data[: 4 * _HEAD])
    if found is None and name.endswith(_GETTEXT_ENDINGS):
        found = _GETTEXT.search(head)
        if found is not None and found[1] == b"CHARSET":
            found = None  # the template's own placeholder
    if found is None:
        found = next((mode for line in lines if (mode := _EMACS.search(line))), None)
    if found is None:
        outer = (*head.split(b"\n", 5)[:5], *data[-_HEAD:].rsplit(b"\n", 6)[1:])
        found = next((mode for line in outer if (mode := _VIM.search(line))), None)
    label = None if found is None else found[1].decode("ascii", "replace")
    return None if label in _UNDECIDED else label


def _in_first_lines(lines: list[bytes]) -> re.Match[bytes] | None:
    """By PEP 263: the second line counts only below a comment or an empty one."""
    for number, line in enumerate(lines):
        if found := _PYTHON.match(line):
            return found
        if number == 0 and line.strip() and not line.lstrip().startswith(b"#"):
            return None
    return None
