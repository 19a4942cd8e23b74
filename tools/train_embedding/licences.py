"""The licence that a downloaded package declares, and whether it is permissive."""

import email
import json
import re
from collections.abc import Iterator
from email.message import Message
from fnmatch import fnmatchcase
from pathlib import Path

_FILLER = frozenset(
    {
        "the", "license", "licence", "licensed", "version", "v", "software", "clause", "new",
        "modified", "simplified", "revised", "osi", "approved", "style", "like", "variant",
    }
)  # fmt: skip
_PERMISSIVE = frozenset(
    {
        "0bsd", "apache", "apache 2", "apache 2.0", "apache2", "apache2.0", "asl 2", "asl 2.0",
        "asl2.0", "blueoak 1.0.0", "boost", "boost 1.0", "bsd", "bsd 2", "bsd 2.0", "bsd 3",
        "2 bsd", "3 bsd", "bsl", "bsl 1.0", "bsl 1", "cc0", "cc0 1.0", "curl", "expat", "hpnd",
        "icu", "isc", "isc iscl", "libpng", "mit", "mit 0", "mit cmu", "mit x11", "ncsa",
        "psf", "psf 2.0", "psf based", "public domain", "python 2.0", "python 2.0.1",
        "python foundation", "unicode dfs 2016", "unicode 3.0", "unlicense", "unlicense unlicense",
        "upl 1.0", "x11", "zlib", "zlib libpng", "zlib acknowledgement", "zlib/libpng", "zpl 2.1",
        "zope public",
    }
)  # fmt: skip
_COPYLEFT = re.compile(
    rb"\bGNU\W+(?:(?:Affero|Lesser|Library|General)\W+)*(?:GPL|Public\W+Licen)"
    rb"|Mozilla\W+Public\W+Licen|Eclipse\W+Public\W+Licen|Common\W+Development\W+and\W+Distribution"
    rb"|SPDX-License-Identifier:\W*(?:[AL]?GPL|MPL|EPL|CDDL)",
    re.IGNORECASE,
)
_TEXTS = {
    "Apache License Version 2.0": "Apache-2.0",
    "Permission is hereby granted, free of charge": "MIT",
    "be used to endorse or promote products": "BSD-3-Clause",
    "Redistribution and use in source and binary forms": "BSD-2-Clause",
}
_OR = re.compile(r"\bor\b|/", re.IGNORECASE)


def permissive(licence: str) -> bool:
    """Whether an expression allows the choice of permissive licences only.

    "or" and "/" offer a choice; "and", a comma and a semicolon do not; "with" adds an exception.
    """
    split = re.split(r"\band\b|;|,(?!\s*version)", licence, flags=re.IGNORECASE)
    parts = [part for part in split if part.strip()]
    return bool(parts) and all(
        any(_plain(choice) in _PERMISSIVE for choice in [part, *_OR.split(part)]) for part in parts
    )


def _plain(name: str) -> str:
    """A name in lower case without uninformative words."""
    without = re.sub(r"\swith\s.*", "", name, flags=re.IGNORECASE)
    words = re.sub(r"[^a-z0-9.]+", " ", without.lower()).split()
    return " ".join(word.rstrip(".") for word in words if word not in _FILLER)


def licence_of(folder: Path, client: str) -> str:
    """The licence in the metadata of an unpacked package; empty if there is none.

    For a Debian package that of most of its files: the others are decided file by file.
    """
    if client == "npm":
        return _of_npm(json.loads((folder / "package" / "package.json").read_text()))
    if client == "wheel":
        (metadata, *_) = sorted(folder.glob("*.dist-info/METADATA"))
        return of_metadata(email.message_from_string(metadata.read_text(errors="replace")))
    if _copyrights(folder):
        listed = debian_licences(folder)
        return dict(listed).get("*") or (listed[0][1] if listed else "")
    texts = [path.read_text(errors="replace") for path in sorted(folder.glob("*/LICEN[SC]E*"))]
    return "; ".join(dict.fromkeys(map(of_text, texts))) if all(map(of_text, texts)) else ""


def of_text(text: str) -> str:
    """The permissive licence of a whole text; empty for others and for several."""
    if names_copyleft(text.encode()):
        return ""
    plain = " ".join(text.split())
    return next((name for mark, name in _TEXTS.items() if mark in plain), "")


def names_copyleft(head: bytes) -> bool:
    """Whether the beginning of a file puts it under a licence that is not permissive."""
    return bool(_COPYLEFT.search(head))


def of_metadata(metadata: Message) -> str:
    """The expression of a Python package, else its classifiers, else a short text."""
    if expression := metadata.get("License-Expression"):
        return " ".join(str(expression).split())
    classifiers = [str(value) for value in metadata.get_all("Classifier") or ()]
    named = [
        value.rpartition("::")[2].strip() for value in classifiers if value.startswith("License ::")
    ]
    named = [name for name in named if name != "OSI Approved"]
    text = str(metadata.get("License") or "").strip()
    short = " ".join(text.split()) if len(text) < 80 else text.splitlines()[0].strip()
    if named:
        return "; ".join(dict.fromkeys(named))
    return short if short.upper() != "UNKNOWN" else ""


def _of_npm(package: dict[str, object]) -> str:
    licence = package.get("license", "")
    if isinstance(licence, dict):
        licence = licence.get("type", "")
    return str(licence)


def debian_licences(folder: Path) -> list[tuple[str, str]]:
    """Patterns of files with their licence, as `debian/copyright` lists them; later ones win."""
    found: list[tuple[str, str]] = []
    for path in _copyrights(folder):
        for stanza in re.split(r"\n\s*\n", path.read_text(errors="replace")):
            fields = dict(_fields(stanza))
            if "files" in fields and "license" in fields:
                licence = " ".join(fields["license"].partition("\n")[0].split())
                found += [(pattern, licence) for pattern in fields["files"].split()]
    return found


def licence_of_file(path: str, licences: list[tuple[str, str]]) -> str:
    """The licence of one file by the last pattern that matches it; empty for none.

    A pattern starts at the root of the sources, which may be any folder of a binary package.
    """
    parts = path.split("/")
    tails = ["/".join(parts[place:]) for place in range(len(parts))]
    matches = [
        licence
        for pattern, licence in licences
        if any(fnmatchcase(tail, pattern) for tail in (tails if pattern != "*" else [path]))
    ]
    return matches[-1] if matches else ""


def _copyrights(folder: Path) -> list[Path]:
    source = folder / "debian" / "copyright"
    return [source] if source.is_file() else sorted(folder.glob("usr/share/doc/*/copyright"))


def _fields(stanza: str) -> Iterator[tuple[str, str]]:
    for match in re.finditer(r"^([\w-]+):[ \t]*(.*(?:\n[ \t].*)*)", stanza, re.MULTILINE):
        yield match.group(1).lower(), match.group(2).strip()
