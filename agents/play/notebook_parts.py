"""The buttons, the picture and the words of a board in a notebook, before anything moves them."""

from typing import Any

from oware_env import render
from oware_env.errors import OwareError

# The buttons stand below the columns of the picture, at any width of it.
_WIDTH = render.WIDTH * 2 // 3
_PITCH = (render.centre(1)[0] - render.centre(0)[0]) / render.WIDTH * 100
_LEFT = render.centre(0)[0] / render.WIDTH * 100 - _PITCH / 2
_GAP = 0.6


class Parts:
    """What a board is made of; ``whole`` holds the rest. Raises OwareError without ipywidgets."""

    def __init__(self) -> None:
        self._widgets = _ipywidgets()
        self.picture = self._widgets.HTML()
        self.houses = [self._house(column) for column in range(6)]
        self.undo = self._button("Undo", "back to your last turn")
        self.hint = self._button("Hint", "what the agent would play, drawn into the board")
        self.new = self._button("New game", "from the start, with another seed")
        self.save = self._button("Save", "as OGN, or as a page when the name ends in .html")
        self.file = self._widgets.Text(
            "game.ogn", layout={"width": "9rem"}, tooltip="file to save the game in"
        )
        self.words = self._widgets.HTML()
        self.whole = self._whole()

    def _house(self, column: int) -> Any:
        left = _GAP / 2 + (_LEFT if column == 0 else 0)
        layout = {"width": f"{_PITCH - _GAP:.2f}%", "margin": f"2px {_GAP / 2}% 2px {left:.2f}%"}
        return self._widgets.Button(layout={**layout, "min_width": "0", "padding": "0"})

    def _button(self, label: str, tooltip: str) -> Any:
        layout = {"width": "auto"}
        return self._widgets.Button(description=label, tooltip=tooltip, layout=layout)

    def _whole(self) -> Any:
        row = {"width": "100%", "flex_flow": "row wrap"}
        return self._widgets.VBox(
            [
                self.picture,
                self._widgets.HBox(self.houses, layout={"width": "100%", "overflow": "visible"}),
                self._widgets.HBox(
                    [self.undo, self.hint, self.new, self.file, self.save], layout=row
                ),
                self.words,
            ],
            layout={"width": f"{_WIDTH}px", "max_width": "100%"},
        )


def _ipywidgets() -> Any:
    try:
        import ipywidgets
    except ImportError:
        raise OwareError(
            "a board to play in a notebook needs ipywidgets: install it with "
            'pip install -e ".[notebooks]"'
        ) from None
    return ipywidgets
