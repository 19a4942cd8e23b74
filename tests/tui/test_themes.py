"""The themes have enough contrast, and can be changed while the terminal runs."""

from pathlib import Path

import pytest
from textual.color import Color

from tests.fakes.replies import Answer
from tests.tui.pictures import Picture
from tests.tui.terminal import running
from treadle.tui.code_style import CodeTheme
from treadle.tui.first_theme import first_theme
from treadle.tui.themes import THEMES

TEXT, MUTED = 4.5, 3.0
"""The smallest contrasts of WCAG 2, for text and for muted text."""
GROUNDS = ("background", "surface", "panel")
COLOURED = [name for name, theme in THEMES.items() if not theme.ansi]


def variables(theme: str) -> dict[str, str]:
    return {**THEMES[theme].to_color_system().generate(), **THEMES[theme].variables}


def contrast(text: str, ground: str) -> float:
    """The contrast ratio of WCAG 2."""
    light, dark = sorted((luminance(text), luminance(ground)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(name: str) -> float:
    shares = (
        share / 12.92 if share <= 0.03928 else ((share + 0.055) / 1.055) ** 2.4
        for share in Color.parse(name).normalized
    )
    return sum(
        share * weight for share, weight in zip(shares, (0.2126, 0.7152, 0.0722), strict=True)
    )


@pytest.mark.parametrize("theme", COLOURED)
@pytest.mark.parametrize("ground", GROUNDS)
def test_texts_have_contrast(theme: str, ground: str) -> None:
    colours = variables(theme)
    texts = ["foreground", "text", *(f"text-{name}" for name in (
        "primary", "secondary", "accent", "warning", "error", "success",
    ))]  # fmt: skip
    low = {name: contrast(colours[name], colours[ground]) for name in texts}
    assert {name: ratio for name, ratio in low.items() if ratio < TEXT} == {}
    assert contrast(colours["text-muted"], colours[ground]) >= MUTED
    assert contrast(colours["text-disabled"], colours[ground]) >= MUTED


@pytest.mark.parametrize("theme", COLOURED)
def test_highlighted_rows_and_selections_have_contrast(theme: str) -> None:
    colours = variables(theme)
    cursor = contrast(colours["block-cursor-foreground"], colours["block-cursor-background"])
    assert cursor >= TEXT
    for selection in ("screen-selection-background", "input-selection-background"):
        assert contrast(colours["foreground"], colours[selection]) >= TEXT


def test_code_has_no_faded_colours() -> None:
    """The theme decides the contrast of each colour, so a style must not change it."""
    for style in CodeTheme.STYLES.values():
        assert "%" not in style
        assert {word for word in style.split() if word.startswith("$")} <= {
            f"${name}" for name in variables("dark") if name.startswith("text")
        }


def test_every_theme_defines_the_same_variables() -> None:
    for name in THEMES:
        assert set(variables("dark")) <= set(variables(name)), name


async def test_theme_changes_while_the_terminal_runs(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("Some `code`.")]) as terminal:
        await terminal.ask("Hello")
        dark = Picture.of(terminal.app).svg()
        assert THEMES["dark"].variables["text-accent"] in dark
        terminal.app.choose_theme("light")
        await terminal.pilot.pause(0.1)
        light = Picture.of(terminal.app).svg()
        assert THEMES["light"].variables["text-accent"] in light
        assert THEMES["dark"].variables["text-accent"] not in light


async def test_no_color_shows_no_colours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with running(tmp_path, [Answer("Some `code`.")]) as terminal:
        await terminal.ask("Hello")
        styles = {
            segment.style
            for strip in terminal.app.screen._compositor.render_strips()
            for segment in strip
        }
        assert all(style is None or not style.color or style.color.is_default for style in styles)


def test_first_theme_is_read_from_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path))
    assert first_theme({}) == "dark"
    config = tmp_path / "config" / "config.toml"
    config.parent.mkdir()
    config.write_text('[terminal]\ntheme = "light"\n')
    assert first_theme({}) == "light"
    assert first_theme({"TREADLE_TERMINAL__THEME": "ansi"}) == "ansi"
    config.write_text('[terminal]\ntheme = "purple"\n')
    assert first_theme({}) == "dark"
    config.write_text("[terminal\n")
    assert first_theme({}) == "dark"
