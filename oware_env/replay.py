"""A game to step through: one HTML page without any outside asset, for a notebook or as a file.

The pictures are those of :mod:`oware_env.render`. Each shape stands in the page once and every ply
lists the ones it shows, so that a game of a hundred plies stays small and the page needs no idea of
how a board is drawn.
"""

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from math import isnan
from pathlib import Path
from typing import Any

from oware_env import render
from oware_env.errors import OwareError, shown
from oware_env.files import write_whole
from oware_env.notation import move_letter
from oware_env.records import GameRecord
from oware_env.render_shapes import to_svg
from oware_env.render_themes import ADAPTS, adaptive_style

FRAME_HEIGHT = 760  # of the frame that a notebook shows, in pixels

Policies = Sequence[Sequence[float] | None]
Values = Sequence[float | None]
Verdicts = Sequence[render.Bounds | None]


class Replay:
    """A game record as a page; in a notebook the last value of a cell shows it.

    ``policies`` and ``values``: what a player thought at each ply, for the side to move there, None
    where there is nothing; as many as states, the last one included. They are drawn as bars, and
    the values as a curve for South. ``verdicts``: what is proved of the moves at each ply, in the
    same way, each as :func:`oware_env.render.svg` takes it; they are marks on the houses, and said.
    """

    def __init__(
        self,
        record: GameRecord,
        policies: Policies | None = None,
        values: Values | None = None,
        verdicts: Verdicts | None = None,
    ) -> None:
        """Raises OwareError when there are not as many of one of them as states."""
        if not isinstance(record, GameRecord):
            raise OwareError(f"a replay is of a GameRecord, not {shown(record)}")
        self.record = record
        self.states = list(record.states())
        self.policies: Policies = self._for_each_state("policies", policies)
        self.values: Values = self._for_each_state("values", values)
        self.verdicts: Verdicts = self._for_each_state("verdicts", verdicts)

    def _for_each_state(self, name: str, given: Any) -> Sequence[Any]:
        count = len(self.states)
        if given is None:
            return [None] * count
        try:
            given = list(given)
        except TypeError:
            raise OwareError(f"{name} are one for each state, not {shown(given)}") from None
        if len(given) != count:
            raise OwareError(f"a game of {count - 1} moves needs {count} {name}, not {len(given)}")
        return given

    def html(self) -> str:
        """The page."""
        frames, shapes, height = self._frames()
        last = self.states[-1].scene()
        letters = [
            move_letter(move, state.south_to_move)
            for move, state in zip(self.record.moves, self.states, strict=False)
        ]
        labels = [f"Oware board {state.to_text()}" for state in self.states]
        result = last.result or f"not finished, {len(letters)} moves"
        if self.record.stated_result:
            result += f"; its source says {self.record.stated_result}"
        game = {
            "shapes": shapes,
            "frames": frames,
            "letters": letters,
            "said": self._said(letters),
            "labels": labels,
        }
        names = [escape(self.record.tags.get(seat, seat)) for seat in ("South", "North")]
        return _template() % {
            "title": f"{names[0]} – {names[1]}",
            "result": escape(result),
            "adapts": adaptive_style(),
            "adapting": ADAPTS,
            "label": labels[0],
            "width": render.WIDTH,
            "height": height,
            "first": "".join(shapes[number] for number in frames[0]),
            "last": len(letters),
            "values": self._curve(),
            # A "<" could end the script that the text stands in.
            "game": json.dumps(game, separators=(",", ":")).replace("<", "\\u003c"),
        }

    def save(self, path: str | Path) -> Path:
        """Write the page to a file; raises OwareError when that cannot be done."""
        write_whole(path, self.html())
        return Path(path)

    def __repr__(self) -> str:
        return f"Replay of {len(self.record.moves)} moves"

    def _repr_html_(self) -> str:
        # A frame of its own keeps the page's style and script apart from the notebook's.
        page = escape(self.html(), quote=True)
        style = f"width:100%;max-width:720px;height:{FRAME_HEIGHT}px;border:0"
        return f'<iframe srcdoc="{page}" style="{style}" title="a game to step through"></iframe>'

    def _frames(self) -> tuple[list[list[int]], list[str], int]:
        """The shapes of each ply as numbers, all shapes as SVG, and the height of the pictures."""
        numbers: dict[str, int] = {}
        frames, height = [], render.HEIGHT
        thoughts = zip(self.policies, self.values, self.verdicts, strict=True)
        for state, (policy, value, bounds) in zip(self.states, thoughts, strict=True):
            shapes, tall = render.compose(state.scene(), policy, value, bounds)
            height = max(height, tall)
            frames.append([numbers.setdefault(to_svg(shape), len(numbers)) for shape in shapes])
        return frames, list(numbers), height

    def _said(self, letters: list[str]) -> list[str]:
        """What is said below the board: the move to each ply, and what is proved there."""
        said = [f"Start, {self.states[0].to_text()}."]
        for number, (state, letter) in enumerate(zip(self.states, letters, strict=False), 1):
            said.append(f"{number}. {state.explain(letter)}")
        for ply, (state, bounds) in enumerate(zip(self.states, self.verdicts, strict=True)):
            if bounds is not None and (proved := render.proved_text(state.scene(), bounds)):
                said[ply] += f" Proved: {proved}."
        return said

    def _curve(self) -> str:
        """South's value over the plies as a small SVG and a line on it, nothing without values."""
        points, steps = [], max(1, len(self.states) - 1)
        for number, (state, value) in enumerate(zip(self.states, self.values, strict=True)):
            if value is not None and not isnan(value):
                south = value if state.south_to_move else -value
                points.append(f"{100 * number / steps:.2f},{20 - 18 * south:.2f}")
        if not points:
            return ""
        return (
            '<svg class="values" viewBox="0 0 100 40" preserveAspectRatio="none" height="80" '
            'style="height:80px" role="img" aria-label="value for South over the game">'
            '<line x1="0" x2="100" y1="20" y2="20" style="stroke:var(--faint)" stroke-width="0.3"/>'
            '<line id="now" x1="0" x2="0" y1="0" y2="40" stroke="#D55E00" stroke-width="0.5"/>'
            f'<polyline points="{" ".join(points)}" fill="none" style="stroke:var(--accent)" '
            'stroke-width="2" vector-effect="non-scaling-stroke"/></svg>'
            '<p class="curve">value for South, from lost to won</p>'
        )


def _template() -> str:
    return files("oware_env").joinpath("replay.html").read_text(encoding="utf-8")
