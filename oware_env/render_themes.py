"""Pictures in light and dark: which colours change, as shapes and as a style sheet.

Only what lies on the page changes: the page itself, text beside the board, and the tracks of bars.
The board is wood in either theme.
"""

from typing import Any, Literal, get_args

from oware_env.errors import OwareError
from oware_env.render_shapes import FAINT, INK, PAGE, TRACK, Shape

Theme = Literal["light", "dark", "auto"]
"""``"auto"``: as the reader's system asks for; light where a viewer knows no style sheets."""

ADAPTS = "oware-auto"  # class of a picture that adapts

# Each light colour and its dark one.
DARK = {
    PAGE: "#1E1A16",
    INK: "#F3EADB",
    FAINT: "#B5A894",
    TRACK: "#3A322A",
}


def check_theme(theme: str) -> None:
    """Raises OwareError when there is no such theme."""
    if theme not in get_args(Theme):
        known = ", ".join(repr(name) for name in get_args(Theme))
        raise OwareError(f"there is no theme {theme!r}: known are {known}")


def in_dark(shapes: list[Shape]) -> list[Shape]:
    """The shapes in the colours of the dark theme."""
    return [_darkened(shape) for shape in shapes]


def _darkened(shape: Shape) -> Shape:
    colours: dict[str, Any] = {
        name: DARK[colour]
        for name in ("fill", "stroke")
        if (colour := getattr(shape, name, None)) in DARK
    }
    return shape._replace(**colours) if colours else shape


def adaptive_style() -> str:
    """A style element that darkens pictures of the class ADAPTS where dark is asked for.

    Every rule names the class, so nothing else on a page changes, however many pictures it holds.
    """
    rules = "".join(
        f'.{ADAPTS} [{name}="{light}"]{{{name}:{dark}}}'
        for light, dark in DARK.items()
        for name in ("fill", "stroke")
    )
    return f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"
