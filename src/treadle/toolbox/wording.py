"""Numbers with their nouns, for the one-line summaries that a person reads."""


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """For example "1 file", "1,812 files"."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
