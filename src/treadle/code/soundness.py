"""Sentences about files that a change breaks."""

_PROBLEMS_SHOWN = 5


def broken(path: str, before: bytes, after: bytes) -> list[str]:
    """A sentence if the syntax of the file at `path` is worse after than before."""
    from treadle.code.syntax import new_problems  # it brings the grammars

    problems = new_problems(path, before, after)
    if not problems:
        return []
    lines = "; ".join(map(str, problems[:_PROBLEMS_SHOWN]))
    return [f"{path} has new syntax errors at line {lines}."]
