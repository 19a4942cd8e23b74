"""The themes of the terminal: dark, light, high contrast, and the terminal's own 16 colours.

The first three themes state their text colours as fixed values. Textual's own text colours depend
on the background of a widget, and this background is unknown when a line of a transcript is
rendered.
"""

from textual.theme import Theme


def _with_fixed_colours(theme: Theme) -> Theme:
    """Set variables to base colours of the theme, unless the theme itself sets them."""
    repeated = {
        "text": theme.foreground,
        "text-primary": theme.primary,
        "text-secondary": theme.secondary,
        "text-accent": theme.accent,
        "text-warning": theme.warning,
        "text-error": theme.error,
        "text-success": theme.success,
        "border": theme.primary,
    }
    stated = {name: colour for name, colour in repeated.items() if colour is not None}
    theme.variables = stated | theme.variables
    return theme


_DARK = Theme(
    name="dark",
    dark=True,
    background="#14161a",
    surface="#1b1e24",
    panel="#232730",
    boost="#2b303a",
    foreground="#dfe3ea",
    primary="#6aa8f7",
    secondary="#7fc8d8",
    accent="#f0b866",
    warning="#e8b04a",
    error="#f2787f",
    success="#7fce8a",
    variables={
        "text-muted": "#9aa3b2",
        "text-disabled": "#7b8494",
        "text-primary": "#8bbcfa",
        "text-secondary": "#8fd2e0",
        "text-error": "#f58f95",
        "text-success": "#8ed898",
        "border-blurred": "#3a4150",
        "block-cursor-foreground": "#ffffff",
        "block-cursor-background": "#2f5c96",
        "block-cursor-text-style": "bold",
        "screen-selection-background": "#35548a",
        "input-selection-background": "#35548a",
        "scrollbar": "#4a5262",
        "scrollbar-background": "#1b1e24",
    },
)
_LIGHT = Theme(
    name="light",
    dark=False,
    background="#fcfcfb",
    surface="#f3f4f6",
    panel="#e7eaef",
    boost="#dfe3ea",
    foreground="#1d2129",
    primary="#0b5cad",
    secondary="#0b6374",
    accent="#8a4700",
    warning="#855400",
    error="#b3202c",
    success="#1a652e",
    variables={
        "text-muted": "#555f6e",
        "text-disabled": "#717b8a",
        "text-warning": "#7a4d00",
        "text-error": "#a81c28",
        "border-blurred": "#b6bdc9",
        "block-cursor-foreground": "#ffffff",
        "block-cursor-background": "#0b5cad",
        "block-cursor-text-style": "bold",
        "screen-selection-background": "#b5d3f5",
        "input-selection-background": "#b5d3f5",
        "scrollbar": "#aab2bf",
        "scrollbar-background": "#eceef2",
    },
)
_HIGH_CONTRAST = Theme(
    name="high-contrast",
    dark=True,
    background="#000000",
    surface="#000000",
    panel="#1a1a1a",
    boost="#262626",
    foreground="#ffffff",
    primary="#5fd7ff",
    secondary="#87ffff",
    accent="#ffd700",
    warning="#ffd700",
    error="#ff8787",
    success="#87ff87",
    variables={
        "text-muted": "#d0d0d0",
        "text-disabled": "#b0b0b0",
        "border": "#ffffff",
        "border-blurred": "#d0d0d0",
        "block-cursor-foreground": "#000000",
        "block-cursor-background": "#ffffff",
        "block-cursor-text-style": "bold",
        "screen-selection-background": "#0050c0",
        "input-selection-background": "#0050c0",
        "scrollbar": "#ffffff",
        "scrollbar-background": "#262626",
    },
)
_ANSI = Theme(
    name="ansi",
    ansi=True,
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    foreground="ansi_default",
    primary="ansi_blue",
    secondary="ansi_cyan",
    accent="ansi_magenta",
    warning="ansi_yellow",
    error="ansi_red",
    success="ansi_green",
    variables={
        "ansi-background": "ansi_default",
        "ansi-foreground": "ansi_default",
        "surface-active": "ansi_default",
        "text": "ansi_default",
        "text-muted": "ansi_bright_black",
        "text-disabled": "ansi_bright_black",
        "foreground-muted": "ansi_bright_black",
        "foreground-disabled": "ansi_bright_black",
        "border": "ansi_blue",
        "border-blurred": "ansi_bright_black",
        "block-cursor-foreground": "ansi_black",
        "block-cursor-background": "ansi_cyan",
        "screen-selection-foreground": "ansi_black",
        "input-selection-foreground": "ansi_black",
        "scrollbar": "ansi_bright_black",
        "scrollbar-background": "ansi_default",
        "scrollbar-background-hover": "ansi_default",
        "scrollbar-background-active": "ansi_default",
    },
)

THEMES = {
    theme.name: theme
    for theme in (*map(_with_fixed_colours, (_DARK, _LIGHT, _HIGH_CONTRAST)), _ANSI)
}
"""The themes by their names in the setting `terminal.theme`."""
