"""Sentences about files that a change breaks."""

_PROBLEMS_SHOWN = 5


def broken(path: str, before: bytes, after: bytes) -> list[str]:
    """A sentence if the syntax of the file at `path` is worse after than before.

    Both are parsed in a process of their own, since a hostile text can crash its parser.
    """
    from treadle.code.syntax import new_problems  # it brings the grammars
    from treadle.code.workers import CallFailedError, call_apart

    try:
        problems = call_apart(new_problems, path, before, after)
    except CallFailedError as error:
        return [f"{path} was not checked for syntax errors: the file {error}."]
    except OSError as error:
        return [f"{path} was not checked for syntax errors: no process could be started ({error})."]
    if not problems:
        return []
    lines = "; ".join(map(str, problems[:_PROBLEMS_SHOWN]))
    return [f"{path} has new syntax errors at line {lines}."]
