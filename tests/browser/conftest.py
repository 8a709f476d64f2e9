"""Shared by the browser tests: one Chromium, and the pages it opens, each made once."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from agents.arena.report_page import game_record, tournament_page
from agents.arena.tournament import TournamentResult, TournamentSettings, run_tournament
from agents.console import run_command
from agents.page import write_page
from oware_env.records import GameRecord
from oware_env.replay import Replay
from train.command import train

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HOW = "the pages are opened in Chromium: apt-get install chromium, pip install playwright"
# Two units of four short games: as little as a page has something to show of.
RUN = {
    "--name": "tiny",
    "--network": "tiny",
    "--workers": "0",
    "--max-plies": "40",
    "--budget.games": "16",
    "--selfplay.games": "4",
    "--selfplay.simulations": "3",
    "--selfplay.table": "8",
    "--learning.batch": "64",
    "--replay.least": "500",
    "--evaluation.during": "random",
    "--evaluation.at-end": "random greedy",
    "--evaluation.games-during": "4",
    "--evaluation.games-at-end": "4",
    "--evaluation.simulations": "2",
}


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """Chromium without a window."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip(HOW)
    library = pytest.importorskip("playwright.sync_api", reason=HOW)
    with library.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


class Opened(NamedTuple):
    """A page that stands open, and what went wrong or was asked of elsewhere since."""

    page: "Page"
    faults: list[str]


@pytest.fixture
def look_at(browser: "Browser") -> Iterator[Callable[..., Opened]]:
    """A function (file, width=, scheme=) -> the page in a window of its own.

    A test whose pages complain, or ask for anything but themselves, fails.
    """
    contexts, opened = [], []

    def look(path: Path, width: int = 1280, scheme: Any = "light") -> Opened:
        size: Any = {"width": width, "height": 800}
        contexts.append(browser.new_context(viewport=size, color_scheme=scheme))
        contexts[-1].set_default_timeout(120_000)  # a busy machine is no fault
        contexts[-1].add_init_script(path=Path(__file__).with_name("measure.js"))
        page, faults, address = contexts[-1].new_page(), [], path.as_uri()
        opened.append(Opened(page, faults))
        page.on("console", lambda message: faults.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: faults.append(f"script: {error}"))
        page.on("requestfailed", lambda request: faults.append(f"failed: {request.url}"))
        page.on("request", lambda asked: asked.url == address or faults.append(f"asks {asked.url}"))
        page.goto(address)
        return opened[-1]

    yield look
    for context in contexts:
        context.close()
    assert [fault for page in opened for fault in page.faults] == []


@pytest.fixture(scope="session")
def tournament(browser: "Browser") -> TournamentResult:
    """A small tournament, played when there is a browser to look at it.

    The longest name is one that a narrow page has no room for.
    """
    agents = ("random", "greedy", "careful", "alphabeta:depth=2,evaluation=material")
    return run_tournament(TournamentSettings(agents=agents, games=8, workers=0))


@pytest.fixture(scope="session")
def tournament_report(
    tournament: TournamentResult, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Its page."""
    folder = tmp_path_factory.mktemp("tournament")
    return write_page(tournament_page(tournament), folder / "report.html")


@pytest.fixture(scope="session")
def run_report(browser: "Browser", tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a tiny training run."""
    folder = tmp_path_factory.mktemp("run")
    words = [word for option, value in RUN.items() for word in (option, *value.split())]
    with chdir(folder):
        assert run_command(train, words) == 0
    return folder / "runs" / "tiny" / "report.html"


@pytest.fixture(scope="session")
def record(tournament: TournamentResult) -> GameRecord:
    """A whole game between the strongest two, their shortest."""
    match = tournament.matches[-1]
    return game_record(match, int(match.games.plies.argmin()), tournament)


@pytest.fixture(scope="session")
def replay_page(record: GameRecord, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That game as a page."""
    return Replay(record).save(tmp_path_factory.mktemp("replay") / "game.html")


@pytest.fixture(scope="session")
def judged_page(record: GameRecord, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The game with a policy and a value at every ply but the last."""
    states = len(record.moves) + 1
    policies = [[0.5, 0.3, 0.2, 0, 0, 0]] * (states - 1)
    values = [0.9 * (-1) ** ply for ply in range(states - 1)]
    replay = Replay(record, [*policies, None], [*values, None])
    return replay.save(tmp_path_factory.mktemp("judged") / "game.html")
