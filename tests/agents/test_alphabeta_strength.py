"""How strong a timed alpha-beta is; slow. Prints its score, interval and mean depth (``-s``)."""

import os
from pathlib import Path

import pytest

import agents
from agents.arena.match import play_match
from agents.tablebase.build import build_table
from agents.tablebase.files import table_path

SECONDS, SEEDS, GAMES = 0.1, 14, 200


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A folder that holds the table of 14 seeds: $OWARE_TABLES of the tests, or a built one."""
    if not table_path(SEEDS).exists():
        folder = Path(os.environ.get("OWARE_TABLES") or tmp_path_factory.mktemp("tables"))
        build_table(SEEDS, folder=folder)


@pytest.mark.slow
@pytest.mark.usefixtures("tables")
def test_a_tenth_of_a_second_beats_eight_plies_of_material() -> None:
    agent = agents.make(f"alphabeta:time={SECONDS},table={SEEDS}")
    result = play_match(agent, "alphabeta:depth=8,evaluation=material", games=GAMES)
    print(f"\n{result}; mean depth {agent.mean_depth:.1f} plies")
    assert result.score >= 0.9
    assert result.distinct_games > GAMES * 0.9
