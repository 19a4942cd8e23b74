"""Adds a style to parts of a line."""

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip


def with_style(strip: Strip, start: int, end: int, style: Style) -> Strip:
    """Add a style to the cells from `start` to `end`. An `end` of -1 means the end of the line."""
    end = strip.cell_length if end == -1 else end
    middle = [
        Segment(text, (own or Style()) + style, control)
        for text, own, control in strip.crop(start, end)
    ]
    return Strip.join([strip.crop(0, start), Strip(middle), strip.crop(end)])


def with_matches(strip: Strip, searched: str, style: Style) -> Strip:
    """Add a style to each occurrence of `searched`, which is casefolded."""
    text = strip.text
    folded = text.casefold()
    if len(folded) != len(text):  # a casefolded text may be longer
        folded = text.lower() if len(text.lower()) == len(text) else text
    at = folded.find(searched)
    while at >= 0:
        start = Segment(text[:at]).cell_length
        end = start + Segment(text[at : at + len(searched)]).cell_length
        strip = with_style(strip, start, end, style)
        at = folded.find(searched, at + len(searched))
    return strip
