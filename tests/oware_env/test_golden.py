import json
import re
from pathlib import Path

import pytest

from oware_env.notation import format_position
from oware_env.state import State

GOLDEN = Path(__file__).parents[1] / "golden"
MAX_PLIES = 400


def cases(name):
    lines = (GOLDEN / f"{name}.jsonl").read_text().splitlines()
    return [pytest.param(case, id=case["id"]) for case in map(json.loads, lines)]


def position_of(case):
    south = case["to_move"] == "S"
    state = State.parse(
        format_position(case["south"] + case["north"], case["stores"], south),
        ply=MAX_PLIES - 1 if case.get("cap_after_this_move") else 0,
    )
    assert state.rules.max_plies == MAX_PLIES
    return state


def test_all_the_material_is_there():
    assert len(cases("rules")) == 26
    assert len(cases("games")) == 16


@pytest.mark.parametrize("case", cases("rules"))
def test_a_position_offers_the_moves_of_the_case(case):
    assert "".join(position_of(case).legal_letters) == case["legal"]


@pytest.mark.parametrize("case", [case for case in cases("rules") if "move" in case.values[0]])
def test_a_move_does_what_the_case_says(case):
    state = position_of(case)
    report = state.explain(case["move"])
    after = state.play(case["move"])
    assert list(after.houses) == case["south2"] + case["north2"], case["why"]
    assert list(after.stores) == case["stores2"], case["why"]
    assert sum(after.stores) - sum(state.stores) == case["captured"] == report.captured_seeds
    assert bool(report.void_slam) == case.get("slam_void", False)
    assert after.is_over == case["over"]
    assert "".join(after.legal_letters) == case.get("next_legal", "")
    assert after.ply == state.ply + 1


@pytest.mark.parametrize("case", [case for case in cases("rules") if case.values[0]["over"]])
def test_a_finished_game_settles_as_the_case_says(case):
    state = position_of(case)
    final = state.play(case["move"]) if "move" in case else state
    assert list(final.outcome.scores) == case["final"], case["why"]
    limit = case.get("cap_after_this_move", False)
    assert (final.outcome.reason == "move_limit") == limit


RESULT = re.compile(
    r"pits (?P<south>[\d ]+) / (?P<north>[\d ]+), stores (?P<stores>\d+-\d+)"
    r"(, legal \{(?P<legal>\w*)\})?(?P<over>, OVER( (?P<final>\d+-\d+))?)?"
)


@pytest.mark.parametrize("case", cases("games"))
def test_a_whole_game_ends_as_written(case):
    state = State.initial()
    for letter in case["moves"]:
        state = state.play(letter)
    result = RESULT.fullmatch(case["result"])
    houses = [int(count) for count in f"{result['south']} {result['north']}".split()]
    stores = tuple(int(count) for count in result["stores"].split("-"))
    assert list(state.houses) == houses
    assert state.stores == stores
    assert state.ply == len(case["moves"])
    assert state.is_over == bool(result["over"])
    if result["legal"]:
        assert "".join(state.legal_letters) == result["legal"]
    if state.is_over:
        final = tuple(map(int, result["final"].split("-"))) if result["final"] else stores
        assert state.outcome.scores == final
        assert state.outcome.reason == ("no_feeding_move" if result["final"] else "majority")


def test_a_repeated_position_ends_nothing():
    (case,) = (case.values[0] for case in cases("games") if case.id == "G-repeat")
    state = State.initial()
    seen = {state.to_text()}
    for letter in case["moves"]:
        state = state.play(letter)
        repeated = state.to_text() in seen
        seen.add(state.to_text())
        assert not state.is_over
    assert repeated
