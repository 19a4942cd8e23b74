"""The styles of highlighted code, in the colours of the theme."""

from pygments.token import Token
from textual.highlight import HighlightTheme

_STYLES = {
    Token.Comment: "$text-muted italic",
    Token.Error: "$text-error",
    Token.Generic.Strong: "bold",
    Token.Generic.Emph: "italic",
    Token.Generic.Error: "$text-error",
    Token.Generic.Heading: "$text-primary bold",
    Token.Generic.Subheading: "$text-primary",
    Token.Keyword: "$text-accent",
    Token.Keyword.Constant: "$text-secondary",
    Token.Literal.Number: "$text-warning",
    Token.Literal.String: "$text-success",
    Token.Literal.String.Doc: "$text-success italic",
    Token.Name.Attribute: "$text-secondary",
    Token.Name.Builtin: "$text-secondary",
    Token.Name.Class: "$text-primary bold",
    Token.Name.Decorator: "$text-secondary",
    Token.Name.Function: "$text-primary",
    Token.Name.Tag: "$text-primary",
    Token.Operator.Word: "$text-accent",
}


class CodeTheme(HighlightTheme):
    """Colours that have enough contrast in each theme of the terminal.

    Textual's own styles fade some colours, which needs a known background.
    """

    STYLES = _STYLES
