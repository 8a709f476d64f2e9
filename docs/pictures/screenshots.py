"""Makes the screenshots of the README: a tournament's report, and a game in the middle.

    python docs/pictures/screenshots.py

Writes report.png and replay.png beside itself. Needs Chromium (apt-get install chromium).
"""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

import agents
from agents.arena.report_page import game_record, tournament_page
from agents.arena.tournament import TournamentSettings, run_tournament
from agents.page import write_page
from oware_env.positions import as_positions
from oware_env.records import GameRecord
from oware_env.replay import Replay

if TYPE_CHECKING:
    from playwright.sync_api import Page

HERE = Path(__file__).parent
AGENTS = ("greedy", "careful", "strategist", "alphabeta:depth=6", "champion:sims=64")
ADVISER = "champion:sims=400"  # whose thoughts the bars of the replay show
SIZE = {"width": 1000, "height": 700}
BEGUN = 20  # plies of the game before the capture that is shown


def make_pages(folder: Path) -> int:
    """Write report.html and replay.html: a small tournament, and a game of its best two.

    Returns the ply of the game to show: a capture.
    """
    result = run_tournament(TournamentSettings(agents=AGENTS, games=100))
    write_page(tournament_page(result), folder / "report.html")
    replay = judged(game_record(result.matches[-1], 0, result))
    replay.save(folder / "replay.html")
    captures = [ply for ply, state in enumerate(replay.states) if state.scene().captured]
    return next(ply for ply in captures if ply >= BEGUN)


def judged(record: GameRecord) -> Replay:
    """A game with the adviser's policy and value at every ply."""
    states = list(record.states())
    running = states[:-1]
    boards = np.stack([state.board for state in running])
    plies = np.array([state.ply for state in running])
    thought = agents.make(ADVISER).decide(as_positions(boards, plies, np.arange(len(running))))
    return Replay(record, [*thought.policy.tolist(), None], [*thought.value.tolist(), None])


@contextmanager
def chromium() -> Iterator["Page"]:
    """A page in a window of the size of the screenshots."""
    from playwright.sync_api import sync_playwright

    found = shutil.which("chromium")
    if found is None:
        sys.exit("there is no chromium here: apt-get install chromium")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser.new_page(viewport=SIZE)
        browser.close()


def main() -> None:
    """Write both."""
    with TemporaryDirectory() as name, chromium() as page:
        folder = Path(name)
        ply = make_pages(folder)
        page.goto((folder / "report.html").as_uri())
        box = page.locator("section").first.bounding_box()
        assert box is not None
        whole = {"x": 0, "y": 0, "width": SIZE["width"], "height": box["y"] + box["height"] + 16}
        page.screenshot(path=HERE / "report.png", full_page=True, clip=whole)
        page.goto((folder / "replay.html").as_uri())
        for _ in range(ply):
            page.keyboard.press("ArrowRight")
        page.screenshot(path=HERE / "replay.png")


if __name__ == "__main__":
    main()
