"""The tasks: edits of real files of five languages in six forms, each with its right outcome."""

import difflib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from bench.edits.blocks import Block, indent_of, is_once, mutated, pick, step_of
from bench.edits.variants import (
    ALWAYS,
    CRLF,
    DEDENTED,
    EXACT,
    LATIN,
    LENIENT,
    MARK,
    MIXED,
    SPACES,
    TABS,
    UNENDED,
    File,
    Variant,
    common,
    fits,
    written_file,
)
from bench.retrieval.packages import CORPORA, Corpus, UnreachableError, unpacked
from treadle.code.parse.file import parse_file
from treadle.edits.model import content_hash
from treadle.edits.patches import parse_patch
from treadle.edits.requests import EditRequest, LineRangeEdit, RangeEdit, ReplaceEdit

PATH = "file"
"""What every edit calls its file."""

LANGUAGES = ("Python", "Rust", "TypeScript", "Go", "Java")

STALE = "the lines themselves changed"
TWICE = "its lines are there twice"
FORMS = ("replace", "unified diff", "model patch", "item", "byte range", "line range")


@dataclass(frozen=True, slots=True)
class Task:
    """One edit. `file` is None if it must be refused.

    `texts` are what the model wrote, for other tools: old and new text, or a patch.
    """

    language: str
    form: str
    variant: str
    data: bytes
    requests: tuple[EditRequest, ...]
    file: File | None
    texts: tuple[str, ...] = ()


def sources(corpus: Corpus) -> list[Path]:
    """The files of a corpus. Raises UnreachableError."""
    return [
        path
        for package in corpus.packages
        for path in sorted(unpacked(package).rglob("*"))
        if path.suffix in corpus.suffixes and package.inside in path.as_posix()
    ]


def tasks(per_language: int, seed: int = 5) -> Iterator[Task]:
    """About that many tasks of each language whose packages are available."""
    for corpus in CORPORA:
        if corpus.name not in LANGUAGES:
            continue
        try:
            found = sources(corpus)
        except UnreachableError:
            continue
        chance = random.Random(f"{seed} {corpus.name}")
        paths = [path for path in found if 2_000 < path.stat().st_size < 200_000]
        chance.shuffle(paths)
        made = 0
        for path in paths * 10:
            for task in tasks_of(corpus.name, path, chance):
                yield task
                made += 1
            if made >= per_language:
                break


def tasks_of(language: str, path: Path, chance: random.Random) -> Iterator[Task]:
    """Some tasks of each form for one file; none if it is not plain UTF-8 text with LF."""
    data = path.read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return
    if not text.endswith("\n") or "\r" in text or "\0" in text or "\ufeff" in text:
        return
    lines = text.split("\n")[:-1]
    if any(separator in text for separator in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"):
        return  # tools that split text by these characters would be measured by that alone
    for form in ("replace", "unified diff", "model patch"):
        for variant in chance.sample((*ALWAYS, *LENIENT), 3):
            yield from _written(language, form, variant, lines, chance)
        yield from _refused(language, form, lines, chance)
    yield from _anchored(language, lines, chance)
    yield from _several(language, lines, chance)
    yield from _part(language, lines, chance)
    for form in ("byte range", "line range"):
        yield from _range(language, form, chance.choice(ALWAYS), lines, chance)
    yield from _items(language, path, lines, chance)


def _written(
    language: str, form: str, variant: Variant, lines: Sequence[str], chance: random.Random
) -> Iterator[Task]:
    block = pick(lines, chance, at_end=variant is UNENDED)
    if block is None:
        return
    wrong = chance.random() < 0.5
    texts = _texts(form, block, variant, chance, wrong=wrong)
    if texts is None:
        return
    file = written_file(block, variant, chance.randrange(10**6))
    yield Task(language, form, variant.name, file.data, _requests(form, texts), file, texts)


def _refused(
    language: str, form: str, lines: Sequence[str], chance: random.Random
) -> Iterator[Task]:
    """Edits whose lines have changed in the file, or occur twice."""
    block = pick(lines, chance)
    if block is None or (texts := _texts(form, block, EXACT, chance, wrong=True)) is None:
        return
    data = written_file(block, EXACT, 0).data
    if chance.random() < 0.5:
        changed = [place for place in range(len(block.old)) if _is_removed(block, place)]
        if not changed:
            return
        place = block.first + chance.choice(changed)
        present = [*lines[:place], f"{lines[place]} + changed", *lines[place + 1 :]]
        data = "".join(f"{line}\n" for line in present).encode()
        yield Task(language, form, STALE, data, _requests(form, texts), None, texts)
    elif form != "unified diff":  # there the line number may decide
        around = lines[block.first - 4 : block.last + 4]
        data += "".join(f"{line}\n" for line in ["", *around]).encode()
        yield Task(language, form, TWICE, data, _requests(form, texts), None, texts)


def _is_removed(block: Block, place: int) -> bool:
    return bool(block.old[place].strip()) and place not in {source for _, source in block.new}


def _requests(form: str, texts: tuple[str, ...]) -> tuple[EditRequest, ...]:
    if form == "replace":
        return (ReplaceEdit(PATH, texts[0], texts[1]),)
    return parse_patch(texts[0])


def _texts(
    form: str, block: Block, variant: Variant, chance: random.Random, *, wrong: bool
) -> tuple[str, ...] | None:
    """The text that a model writes; None if the variant does not apply, or if several locations
    match.
    """
    new = [line for line, _ in block.new]
    if form == "replace":
        lines = [*block.old, *new]
        if not fits(variant, block, lines, [block.old]):
            return None
        cut = common(lines) if variant.dedented else 0
        old_text = "".join(f"{variant.told(line[cut:])}\n" for line in block.old)
        new_text = "".join(f"{_told(variant, line[cut:], at)}\n" for line, at in block.new)
        return old_text, new_text
    hunks = list(_hunks(block, new))
    marked = [line for _, hunk in hunks for line in hunk]
    bare = [line[1:] for line in marked]
    olds = [[line[1:] for line in hunk if line[0] != "+"] for _, hunk in hunks]
    if not fits(variant, block, bare, olds) or not all(is_once(block.lines, old) for old in olds):
        return None
    cut = common(bare) if variant.dedented else 0
    text = [f"--- a/{PATH}", f"+++ b/{PATH}"]
    if form == "model patch":
        text = ["*** Begin Patch", f"*** Update File: {PATH}"]
    for line, hunk in hunks:
        text.append(_head(form, line, hunk, chance, wrong=wrong))
        text += [
            mark[0] + _told(variant, mark[1 + cut :], None if mark[0] == "+" else 0)
            for mark in hunk
        ]
    if form == "model patch":
        text.append("*** End Patch")
    return ("".join(f"{line}\n" for line in text),)


def _told(variant: Variant, line: str, place: int | None) -> str:
    """How the model writes a line; `place` is the index of the old line, if it is one."""
    return variant.told_added(line) if place is None else variant.told(line)


def _head(form: str, line: int, hunk: Sequence[str], chance: random.Random, *, wrong: bool) -> str:
    if form == "model patch":
        return "@@"
    if wrong:
        line, off = max(1, line + chance.randint(-20, 20)), chance.randint(1, 3)
    else:
        off = 0
    old = sum(mark[0] != "+" for mark in hunk) + off
    new = sum(mark[0] != "-" for mark in hunk) + off
    return f"@@ -{line},{old} +{line},{new} @@"


def _hunks(block: Block, new: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The hunks of a unified diff, each with its line in the old file."""
    begin, end = max(0, block.first - 8), block.last + 8
    old_side = list(block.lines[begin:end])
    new_side = [*block.lines[begin : block.first], *new, *block.lines[block.last : end]]
    matcher = difflib.SequenceMatcher(None, old_side, new_side, autojunk=False)
    for group in matcher.get_grouped_opcodes(3):
        hunk: list[str] = []
        for tag, a, b, c, d in group:
            if tag == "equal":
                hunk += [f" {line}" for line in old_side[a:b]]
            else:
                hunk += [f"-{line}" for line in old_side[a:b]]
                hunk += [f"+{line}" for line in new_side[c:d]]
        yield begin + group[0][1] + 1, hunk


def _anchored(language: str, lines: Sequence[str], chance: random.Random) -> Iterator[Task]:
    """A patch whose lines occur twice in the file; its anchor names the head above the right ones.

    The other occurrence is added at the end of the file, below its own head.
    """
    block = pick(lines, chance)
    if block is None:
        return
    hunks = list(_hunks(block, [line for line, _ in block.new]))
    first = min(line for line, _ in hunks) - 1
    window = lines[max(0, block.first - 8) : block.last + 8]
    least = min((len(indent_of(line)) for line in window if line.strip()), default=0)
    heads = [
        at
        for at in range(first - 1, max(0, first - 30), -1)
        if lines[at].strip() and len(indent_of(lines[at])) < least
    ]
    if (
        not heads
        or not lines[heads[0]].strip()[0].isalpha()
        or not is_once(lines, lines[heads[0] : heads[0] + 1])
    ):
        return
    data = "".join(f"{line}\n" for line in (*lines, "", "elsewhere", *window, "", "last"))
    expected = _changed(block, lines) + data.removeprefix("".join(f"{x}\n" for x in lines))
    text = ["*** Begin Patch", f"*** Update File: {PATH}"]
    for _, hunk in hunks:
        text += [f"@@ {lines[heads[0]].strip()}", *hunk]
    patch = "".join(f"{line}\n" for line in (*text, "*** End Patch"))
    file = File(data.encode(), expected.encode(), 0, 0)
    yield Task(
        language,
        "model patch",
        "twice, with an anchor",
        file.data,
        parse_patch(patch),
        file,
        (patch,),
    )


def _changed(block: Block, lines: Sequence[str]) -> str:
    new = [line for line, _ in block.new]
    return "".join(f"{x}\n" for x in (*lines[: block.first], *new, *lines[block.last :]))


def _several(language: str, lines: Sequence[str], chance: random.Random) -> Iterator[Task]:
    """Three replacements at once, in any order, each matched against the unchanged file."""
    found = [block for _ in range(3) if (block := pick(lines, chance))]
    found.sort(key=lambda block: -block.first)
    if len(found) < 3 or any(a.first < b.last for a, b in pairwise(found)):
        return
    after = list(lines)
    requests: list[EditRequest] = []
    for block in found:
        new = [line for line, _ in block.new]
        after[block.first : block.last] = new
        old_text, new_text = ("".join(f"{x}\n" for x in side) for side in (block.old, new))
        requests.append(ReplaceEdit(PATH, old_text, new_text))
    chance.shuffle(requests)
    data, expected = ("".join(f"{x}\n" for x in side).encode() for side in (lines, after))
    file = File(data, expected, 0, 0)
    yield Task(language, "replace", "three at once", data, tuple(requests), file)


def _part(language: str, lines: Sequence[str], chance: random.Random) -> Iterator[Task]:
    """Part of a line, or from within a line into the next, in a file with CRLF or LF."""
    end = chance.choice(("\n", "\r\n"))
    text = "".join(f"{line}\n" for line in lines)
    for _ in range(20):
        start = chance.randrange(len(text))
        old = text[start : start + chance.randint(6, 60)]
        if text.count(old) == 1 and text.find(old[1:], start + 2) < 0 and len(old.split()) > 1:
            new = old.replace(old.split()[0], f"changed_{chance.randrange(99)}\n  other", 1)
            after = text[:start] + new + text[start + len(old) :]
            data, expected = (each.replace("\n", end).encode() for each in (text, after))
            request = ReplaceEdit(PATH, old, new)
            file = File(data, expected, 0, 0)
            yield Task(language, "replace", "part of a line", data, (request,), file, (old, new))
            return


def _range(
    language: str, form: str, variant: Variant, lines: Sequence[str], chance: random.Random
) -> Iterator[Task]:
    block = pick(lines, chance, at_end=variant is UNENDED)
    if block is None:
        return
    file = written_file(block, variant, chance.randrange(10**6))
    code = "".join(f"{line}\n" for line, _ in block.new)
    first = block.first + len(variant.top) + 1
    seen = content_hash(file.data)
    outcome: File | None = file
    name = variant.name
    data = file.data
    if chance.random() < 0.25:
        data = data.replace(lines[0].encode(), b"# changed", 1)
        outcome, name = None, STALE
    request: EditRequest = LineRangeEdit(PATH, first, first + len(block.old) - 1, code, seen)
    if form == "byte range":
        code = code if variant.last_end else code[:-1]
        request = RangeEdit(PATH, file.start, file.stop, code, seen)
    yield Task(language, form, name, data, (request,), outcome)


def _items(
    language: str, path: Path, lines: Sequence[str], chance: random.Random
) -> Iterator[Task]:
    """Items with their code as in the file, not indented at all, or with tabs as spaces."""
    parsed = parse_file(path.parent, path.name)
    items = [entry.item for entry in parsed.items]
    chance.shuffle(items)
    made = 0
    for item in items:
        first, last = item.start_line - 1, item.end_line
        size = last - first
        if made == 3 or not 2 <= size <= 60 or last >= len(lines):
            continue
        old = lines[first:last]
        ends_line = path.read_bytes()[item.end_byte : item.end_byte + 1] in {b"\n", b""}
        if not ends_line or not old[0].strip() or common(old) < len(indent_of(old[0])):
            continue
        body = mutated(old[1:], chance, step_of(lines))
        shifted = tuple((line, None if place is None else place + 1) for line, place in body)
        block = Block(tuple(lines), first, last, ((old[0], 0), *shifted))
        variant = chance.choice((EXACT, EXACT, CRLF, MARK, LATIN, MIXED, SPACES, TABS, DEDENTED))
        new = [line for line, _ in block.new]
        if not new[-1].strip():
            continue
        if min(map(len, map(indent_of, filter(str.strip, new)))) < len(indent_of(old[0])):
            continue
        if fits(variant, block, [*old, *new], [old]):
            made += 1
            yield _item(language, block, variant, chance)


def _item(language: str, block: Block, variant: Variant, chance: random.Random) -> Task:
    file = written_file(block, variant, chance.randrange(10**6))
    new = [line for line, _ in block.new]
    indent = len(indent_of(new[0]))
    told = [_told(variant, line, at) for line, at in block.new]
    name = variant.name
    if variant is DEDENTED or (indent and chance.random() < 0.3):
        told = [_told(variant, line[indent:], at) for line, at in block.new]
        name = DEDENTED.name if variant is EXACT else name
    elif chance.random() < 0.5:
        told[0] = told[0].lstrip()
    start = file.start + len(indent_of(variant.stored(new[0])))
    end = len(file.data[: file.stop].rstrip(b"\r\n"))
    code = "\n".join(told) + ("\n" if chance.random() < 0.5 else "")
    request = RangeEdit(PATH, start, end, code, content_hash(file.data), reindent=True)
    return Task(language, "item", name, file.data, (request,), replace(file, start=start))
