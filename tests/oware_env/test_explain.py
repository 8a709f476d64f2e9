import pytest

from oware_env.state import State

START = "4-4-4-4-4-4-4-4-4-4-4-4-0-0-S"


def explain(text, move):
    return State.parse(text).explain(move)


def test_a_plain_move():
    report = explain(START, "C")
    assert (report.move, report.letter, report.seeds, report.laps) == (2, "C", 4, 0)
    assert report.legal and report.why_not is None
    assert report.path == (3, 4, 5, 6)
    assert (report.landing, report.landing_count) == (6, 5)
    assert report.captured == report.void_slam == () and report.captured_seeds == 0
    assert not report.feeding_duty
    assert str(report) == (
        "C sows 4 seeds over D, E, F, a. The last seed makes 5 in a. Captures nothing."
    )


def test_houses_of_a_report_are_absolute_for_north_too():
    report = explain(START.replace("S", "N"), "e")
    assert (report.move, report.path, report.landing) == (4, (11, 0, 1, 2), 2)
    assert str(report).startswith("e sows 4 seeds over f, A, B, C.")


def test_a_lap_skips_its_origin():
    report = explain("0-0-0-0-0-12-0-0-0-0-5-0-15-16-S", "F")
    assert report.path == (6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 6)
    assert (report.laps, report.landing, report.landing_count) == (1, 6, 2)
    assert report.captured == (6,) and report.captured_seeds == 2
    assert str(report) == (
        "F sows 12 seeds over a, b, c, d, e, f, A, B, C, D, E, a. "
        "House F is skipped once and stays empty. "
        "The last seed makes 2 in a. Captures 2 seeds from a."
    )


@pytest.mark.parametrize(
    ("seeds", "laps", "words"),
    [(11, 0, None), (12, 1, "once"), (22, 1, "once"), (23, 2, "2 times"), (34, 3, "3 times")],
)
def test_the_skips_of_an_origin_are_counted(seeds, laps, words):
    report = explain(
        f"0-0-0-0-0-{seeds}-0-0-0-0-0-1-{23 - seeds // 2}-{24 - (seeds + 1) // 2}-S", 5
    )
    assert report.laps == laps
    assert len(report.path) == seeds and 5 not in report.path
    assert ("skipped" in str(report)) == (laps > 0)
    if words:
        assert f"House F is skipped {words} and stays empty." in str(report)


def test_a_chain_is_told_from_the_landing_house_backwards():
    report = explain("0-0-0-0-0-3-1-2-1-4-0-0-18-19-S", "F")
    assert report.captured == (8, 7, 6)
    assert report.captured_seeds == 7
    assert "Captures 7 seeds from c, b, a." in str(report)


def test_a_chain_stops_at_the_border():
    report = explain("0-0-0-0-2-1-1-3-0-0-0-4-18-19-S", "F")
    assert report.captured == (6,) and report.captured_seeds == 2


def test_a_void_slam_names_the_houses_it_would_have_taken():
    report = explain("3-0-0-0-0-3-1-2-1-0-0-0-19-19-S", "F")
    assert report.legal
    assert report.void_slam == (8, 7, 6)
    assert report.captured == () and report.captured_seeds == 0
    assert str(report) == (
        "F sows 3 seeds over a, b, c. The last seed makes 2 in c. Taking c, b, a would leave the "
        "opponent without a seed: a grand slam is void, nothing is captured."
    )


def test_the_duty_to_feed_says_why_a_house_is_not_offered():
    text = "1-0-0-2-0-1-0-0-0-0-0-0-22-22-S"
    refused = explain(text, "D")
    assert refused.feeding_duty and not refused.legal
    assert refused.why_not == (
        "the opponent has no seeds and must be fed: house D holds 2 and needs 3 to reach the "
        "other side"
    )
    assert refused.path == (4, 5)
    assert str(refused).endswith(f"Not offered: {refused.why_not}.")
    offered = explain(text, "F")
    assert offered.feeding_duty and offered.legal
    assert str(offered).endswith(
        "The opponent has no seeds, so only moves that feed it are offered."
    )


def test_an_empty_house_sows_nothing():
    report = explain("1-0-0-2-0-1-0-0-0-0-0-1-22-21-S", "B")
    assert not report.legal and report.why_not == "house B is empty"
    assert (report.seeds, report.path, report.landing, report.landing_count) == (0, (), None, 0)
    assert str(report) == "B: not offered, house B is empty."


@pytest.mark.parametrize(
    ("text", "ply", "reason"),
    [
        ("0-0-0-0-0-0-0-0-0-5-0-0-25-18-N", 30, "majority"),
        ("0-0-0-0-0-0-1-1-0-0-0-0-24-22-N", 30, "no_feeding_move"),
        (START, 400, "move_limit"),
    ],
)
def test_no_move_is_offered_when_the_game_is_over(text, ply, reason):
    state = State.parse(text, ply=ply)
    for move in range(6):
        report = state.explain(move)
        assert not report.legal and not report.feeding_duty
        assert report.why_not == f"the game is over ({reason})"
        assert report.why_not in str(report)


def test_a_report_says_what_the_move_then_does(random_game):
    for seed in range(5):
        for state in random_game(seed)[:-1]:
            mover = 0 if state.south_to_move else 1
            for move in range(6):
                report = state.explain(move)
                assert report.legal == (move in state.legal_moves)
                assert len(report.path) == report.seeds
                if not report.legal:
                    continue
                after = state.play(move)
                assert after.stores[mover] - state.stores[mover] == report.captured_seeds
                assert bool(report.captured) == (report.captured_seeds > 0)
                assert all(after.houses[house] == 0 for house in report.captured)
                if not report.captured:
                    assert after.houses[report.landing] == report.landing_count
                untouched = set(range(12)) - set(report.path) - {move + 6 * mover}
                assert all(after.houses[house] == state.houses[house] for house in untouched)
                assert str(report).startswith(f"{report.letter} sows {report.seeds} seed")
