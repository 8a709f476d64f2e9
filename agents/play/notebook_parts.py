"""The buttons, the picture and the words of a board in a notebook, before anything moves them."""

from typing import Any

from oware_env import render
from oware_env.errors import OwareError

# The buttons stand below the columns of the picture, at any width of it.
_WIDTH = render.WIDTH * 2 // 3
_PITCH = (render.centre(1)[0] - render.centre(0)[0]) / render.WIDTH * 100
_LEFT = render.centre(0)[0] / render.WIDTH * 100 - _PITCH / 2
_GAP = 0.6


class Buttons:
    """One set of all that can be pressed."""

    def __init__(self, widgets: Any) -> None:
        self._widgets = widgets
        self.houses = [self._house(column) for column in range(6)]
        self.undo = self._button("Undo", "back to your last turn")
        self.hint = self._button("Hint", "what the agent would play, drawn into the board")
        self.new = self._button("New game", "from the start, with another seed")
        self.save = self._button("Save", "as OGN, or as a page when the name ends in .html")

    def _house(self, column: int) -> Any:
        left = _GAP / 2 + (_LEFT if column == 0 else 0)
        layout = {"width": f"{_PITCH - _GAP:.2f}%", "margin": f"2px {_GAP / 2}% 2px {left:.2f}%"}
        return self._widgets.Button(layout={**layout, "min_width": "0", "padding": "0"})

    def _button(self, label: str, tooltip: str) -> Any:
        layout = {"width": "auto"}
        return self._widgets.Button(description=label, tooltip=tooltip, layout=layout)


class Parts:
    """What a board is made of; ``whole`` holds the rest. Raises OwareError without ipywidgets.

    There are two sets of buttons, of which one is shown: a click on the other was made on a
    picture that has changed since, as by the second click of a fast double click.
    """

    def __init__(self) -> None:
        self._widgets = _ipywidgets()
        self.picture = self._widgets.HTML()
        self.sets = (Buttons(self._widgets), Buttons(self._widgets))
        self.shown = self.sets[0]
        self.file = self._widgets.Text(
            "game.ogn", layout={"width": "9rem"}, tooltip="file to save the game in"
        )
        self.words = self._widgets.HTML()
        self._rows = (
            self._widgets.HBox(layout={"width": "100%", "overflow": "visible"}),
            self._widgets.HBox(layout={"width": "100%", "flex_flow": "row wrap"}),
        )
        self._fill_rows()
        self.whole = self._widgets.VBox(
            [self.picture, *self._rows, self.words],
            layout={"width": f"{_WIDTH}px", "max_width": "100%"},
        )

    @property
    def houses(self) -> list[Any]:
        """The buttons of the columns, from the left, that are shown now."""
        return self.shown.houses

    @property
    def undo(self) -> Any:
        """The button shown now that takes back."""
        return self.shown.undo

    @property
    def hint(self) -> Any:
        """The button shown now that asks for advice."""
        return self.shown.hint

    @property
    def new(self) -> Any:
        """The button shown now that begins a new game."""
        return self.shown.new

    @property
    def save(self) -> Any:
        """The button shown now that saves."""
        return self.shown.save

    def change_sets(self) -> None:
        """Get the other set ready: clicks on the one shown before no longer count."""
        self.shown = self.sets[1] if self.shown is self.sets[0] else self.sets[0]

    def show_set(self) -> None:
        """Show the set that is ready in the place of the other."""
        if self._rows[0].children != tuple(self.shown.houses):
            self._fill_rows()

    def _fill_rows(self) -> None:
        houses, others = self._rows
        buttons = self.shown
        houses.children = tuple(buttons.houses)
        others.children = (buttons.undo, buttons.hint, buttons.new, self.file, buttons.save)


def _ipywidgets() -> Any:
    try:
        import ipywidgets
    except ImportError:
        raise OwareError(
            "a board to play in a notebook needs ipywidgets: install it with "
            'pip install -e ".[notebooks]"'
        ) from None
    return ipywidgets
