"""Reports the syntax errors that a change adds."""

_PROBLEMS_SHOWN = 5


def broken(path: str, before: bytes, after: bytes) -> list[str]:
    """Return sentences about the syntax errors that a change adds to the file at `path`.

    The list is empty if the change adds no errors. Both texts are parsed in a separate process,
    since a hostile text can crash the parser.
    """
    from treadle.code.languages import language_of
    from treadle.code.languages.extra import unpacked_grammar
    from treadle.code.sandbox.workers import CallFailedError, call_apart
    from treadle.code.syntax.problems import is_python, new_grammar_problems, new_problems

    folders = frozenset(unpacked_grammar(language_of(path, after)))
    try:
        try:
            problems = call_apart(new_problems, path, before, after, folders=folders)
        except CallFailedError:
            if not is_python(path, after):
                raise
            problems = call_apart(new_grammar_problems, path, before, after)  # without compiling
    except CallFailedError as error:
        return [f"{path} was not checked for syntax errors: the file {error}."]
    except OSError as error:
        return [f"{path} was not checked for syntax errors: no process could be started ({error})."]
    if not problems:
        return []
    lines = "; ".join(map(str, problems[:_PROBLEMS_SHOWN]))
    return [f"{path} has new syntax errors at line {lines}."]
