"""Shapes as pixels without a display, and a window that shows pixels.

Pillow draws, pygame-ce opens the window; both are imported where they are used.
"""

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from oware_env.errors import OwareError
from oware_env.render_shapes import Box, Disc, Label, Line, Point, Polygon, Shape

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

SUPERSAMPLING = 3  # pixels are drawn this much larger, then averaged: Pillow has no smooth edges


def pixels(shapes: list[Shape], width: int, height: int, canvas: str = "white") -> np.ndarray:
    """Draw shapes in order onto a canvas of one colour: uint8[height, width, 3]."""
    from PIL import Image, ImageDraw

    scale = SUPERSAMPLING
    image = Image.new("RGB", (width * scale, height * scale), canvas)
    draw = ImageDraw.Draw(image)
    for shape in shapes:
        _draw(draw, shape, scale)
    return np.array(image.reduce(scale), np.uint8)


def _draw(draw: "ImageDraw", shape: Shape, scale: int) -> None:
    if isinstance(shape, Disc):
        _draw_disc(draw, shape, scale)
    elif isinstance(shape, Box):
        (left, top), (width, height) = shape.corner, shape.size
        # The last row and column of a Pillow rectangle are inside it.
        box = (left * scale, top * scale, (left + width) * scale - 1, (top + height) * scale - 1)
        draw.rounded_rectangle(box, shape.radius * scale, shape.fill)
    elif isinstance(shape, Line):
        _draw_line(draw, shape, scale)
    elif isinstance(shape, Polygon):
        draw.polygon(_scaled(shape.points, scale), shape.fill)
    else:
        _draw_label(draw, shape, scale)


def _scaled(points: tuple[Point, ...], scale: int) -> list[Point]:
    return [(x * scale, y * scale) for x, y in points]


def _square(centre: Point, radius: float, scale: int) -> tuple[float, float, float, float]:
    x, y, half = centre[0] * scale, centre[1] * scale, radius * scale
    return x - half, y - half, x + half, y + half


def _draw_disc(draw: "ImageDraw", disc: Disc, scale: int) -> None:
    if disc.fill:
        draw.ellipse(_square(disc.centre, disc.radius, scale), disc.fill)
    if not disc.stroke:
        return
    # Pillow draws an outline inwards from the box, SVG half to each side.
    box = _square(disc.centre, disc.radius + disc.width / 2, scale)
    thickness = max(1, round(disc.width * scale))
    if not disc.dashes:
        draw.ellipse(box, None, disc.stroke, thickness)
    for dash in range(disc.dashes):
        start = 360.0 * dash / disc.dashes
        draw.arc(box, start, start + 180.0 / disc.dashes, disc.stroke, thickness)


def _draw_line(draw: "ImageDraw", line: Line, scale: int) -> None:
    draw.line(_scaled(line.points, scale), line.stroke, round(line.width * scale))
    for point in line.points:
        draw.ellipse(_square(point, line.width / 2, scale), line.stroke)


def _draw_label(draw: "ImageDraw", label: Label, scale: int) -> None:
    from PIL import ImageFont

    anchor = {"start": "ls", "middle": "ms", "end": "rs"}[label.anchor]
    font: Any = ImageFont.load_default(label.size * scale)
    # Pillow's built-in font has one weight: a thin outline makes it bold.
    outline = label.size * scale / 40 if label.bold else 0
    place = (label.place[0] * scale, label.place[1] * scale)
    draw.text(place, label.text, label.fill, font, anchor, stroke_width=outline)


class PixelWindow:
    """A window on the screen that shows pixels, through pygame-ce, opened by the first picture.

    Raises :class:`OwareError` when pygame-ce is not installed.
    """

    def __init__(self, title: str) -> None:
        # pygame prints a greeting when it is imported unless told otherwise.
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        try:
            import pygame
        except ImportError:
            raise OwareError(
                'a window needs pygame-ce: install it with pip install -e ".[human]"'
            ) from None
        self._pygame: Any = pygame
        self._title = title
        self._surface: Any = None
        self.is_closed = False  # by close() or by its viewer; it then stays closed

    def show(self, picture: np.ndarray) -> None:
        """Show uint8[H, W, 3] and answer the window's events; nothing happens once closed."""
        if self.is_closed:
            return
        pygame, (height, width, _) = self._pygame, picture.shape
        if self._surface is None:
            pygame.display.init()
            pygame.display.set_caption(self._title)
            self._surface = pygame.display.set_mode((width, height))
        self._surface.blit(
            pygame.image.frombuffer(picture.tobytes(), (width, height), "RGB"), (0, 0)
        )
        pygame.display.flip()
        if any(event.type == pygame.QUIT for event in pygame.event.get()):
            self.close()

    def close(self) -> None:
        """Close the window for good; again is harmless."""
        if self._surface is not None:
            self._pygame.display.quit()
            self._surface = None
        self.is_closed = True
