"""Pictures and histograms of a run: what they show, and that they change nothing."""

import io
import json
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image

from agents.tablebase.probe import open_table
from oware_env.encoding import NETWORK_SIZE
from oware_env.positions import as_positions
from oware_env.state import State
from train.diagnosis import POSITIONS, Diagnosis, Histogram, opinions
from train.learner import Learner
from train.samples import GameEnds, Samples
from train.selfplay import Played


class Log:
    """Stands for the run folder: keeps what is written."""

    def __init__(self):
        self.pictures, self.histograms = {}, {}

    def add_picture(self, step, name, picture):
        self.pictures[name] = picture

    def add_histogram(self, step, name, counts, edges):
        self.histograms[name] = (step, counts, edges)


@pytest.fixture
def diagnosis(tiny):
    return Diagnosis(tiny())


def _events(run):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # tensorboard's own imports
        from tensorboard.backend.event_processing import event_accumulator  # type: ignore
    sizes = dict.fromkeys(("images", "histograms"), 0)  # 0: all
    events = event_accumulator.EventAccumulator(str(run / "events"), sizes)
    events.Reload()
    return events


def test_every_evaluation_of_a_run_shows_its_positions_and_what_was_played(finished):
    events = _events(finished)
    lines = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    units = [line for line in lines if "unit" in line]
    assert set(events.Tags()["images"]) == {f"positions/{name}" for name in POSITIONS}
    steps = None
    for name in POSITIONS:
        shown = events.Images(f"positions/{name}")
        assert len(shown) == 2  # evaluations
        pictures = [np.array(Image.open(io.BytesIO(one.encoded_image_string))) for one in shown]
        assert pictures[0].shape == (646, 972, 3)
        assert (pictures[0][:474] == pictures[1][:474]).all(), "the same board"
        assert (pictures[0][474:] != pictures[1][474:]).any(), "another opinion"
        steps = [one.step for one in shown]
    names = ("policy_entropy", "root_value", "game_length", "final_lead")
    assert set(events.Tags()["histograms"]) == {f"selfplay/{name}" for name in names}
    for name in ("game_length", "final_lead"):
        counts = [one.histogram_value.num for one in events.Histograms(f"selfplay/{name}")]
        between = [
            8 * sum(last < line["step"] <= step for line in units)
            for last, step in zip((-1, steps[0]), steps, strict=True)
        ]
        assert counts == between and min(counts) > 0


def test_the_endgame_is_won_by_one_move_alone_and_lost_by_another():
    text, ply = POSITIONS["endgame"]
    state = State.parse(text, ply=ply)
    positions = as_positions(state.board[None], np.array([ply]), np.zeros(1))
    lows, highs = open_table(8).move_bounds(positions, 400)
    assert (lows == highs).all()
    margins = {letter: lows[0, "ABCDEF".index(letter)] for letter in state.legal_letters}
    assert [letter for letter, margin in margins.items() if margin > 0] == ["E"]
    assert [letter for letter, margin in margins.items() if margin < 0] == ["D"]


@pytest.mark.parametrize("max_plies", [400, 12])
def test_opinions_are_a_policy_over_legal_moves_and_a_value(tiny, max_plies):
    config = tiny({"max_plies": max_plies})
    found = opinions(Learner(config).playing_weights(), config)
    assert list(found) == list(POSITIONS)
    for opinion in found.values():
        assert opinion.policy.sum() == pytest.approx(1, abs=1e-5)
        assert set(np.flatnonzero(opinion.policy)) == set(opinion.state.legal_moves)
        assert -1 <= opinion.value <= 1


def test_histograms_hold_the_games_and_searches_since_the_last_were_written(diagnosis, tiny):
    ends = GameEnds(
        np.array([[25, 20], [20, 28], [24, 24]], np.int16),
        np.array([7, 30, 40], np.int32),
        np.full(3, 2, np.int8),
    )
    values = np.array([0.5, -0.25, np.nan], np.float32)
    policies = np.array([[0.5, 0.5, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0], [0] * 6], np.float32)
    empty = np.zeros(3, np.int8)
    samples = Samples(
        np.zeros((3, NETWORK_SIZE), np.uint8), policies, empty, empty, values, empty, empty
    )
    weights, log = Learner(tiny()).playing_weights(), Log()
    diagnosis.note(Played(samples, ends, (empty, empty), {}))
    diagnosis.write(log, 9, weights)
    seen = {}
    for name, (step, counts, edges) in log.histograms.items():
        middles = (edges[:-1] + edges[1:]) / 2
        seen[name] = np.repeat(middles, counts)
        assert step == 9
    assert seen["selfplay/final_lead"].tolist() == [-8, 0, 5]
    assert seen["selfplay/game_length"] == pytest.approx([7, 30, 40], abs=0.4)
    assert seen["selfplay/policy_entropy"] == pytest.approx([0, np.log(2)], abs=0.02)
    assert seen["selfplay/root_value"] == pytest.approx([-0.25, 0.5], abs=0.02)
    again = Log()
    diagnosis.write(again, 10, weights)
    assert again.histograms == {} and len(again.pictures) == 3


def test_a_unit_without_searches_has_the_histograms_of_its_games(diagnosis, tiny):
    class Games(NamedTuple):
        ends: GameEnds

    ends = GameEnds(np.array([[25, 20]], np.int16), np.array([7], np.int32), np.zeros(1, np.int8))
    diagnosis.note(Games(ends))
    log = Log()
    diagnosis.write(log, 1, Learner(tiny()).playing_weights())
    assert set(log.histograms) == {"selfplay/game_length", "selfplay/final_lead"}


def test_writing_them_changes_nothing_of_what_is_learned(diagnosis, tiny):
    random, learned = np.random.default_rng(0), []
    batches = [
        Samples(
            inputs=random.integers(1, 9, (32, NETWORK_SIZE)).astype(np.uint8),
            policies=random.dirichlet(np.ones(6), 32).astype(np.float32),
            results=random.integers(0, 3, 32).astype(np.int8),
            margins=np.zeros(32, np.int8),
            values=np.zeros(32, np.float32),
            plies=np.zeros(32, np.int32),
            games=np.zeros(32, np.int32),
        )
        for _ in range(4)
    ]
    for writes in (False, True):
        learner = Learner(tiny())
        for step, batch in enumerate(batches):
            learner.step(batch, 0.5)
            if writes:
                diagnosis.write(Log(), step, learner.playing_weights())
        learned.append(learner.playing_weights())
    assert learned[0] == learned[1]


def test_values_beyond_a_histogram_count_in_its_outer_bins():
    histogram = Histogram(0.0, 4.0, bins=4)
    histogram.add(np.array([-3.0, 0.5, 1.0, 4.0, 9.0]))
    assert histogram.counts.tolist() == [2, 1, 0, 2]
