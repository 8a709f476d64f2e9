"""Games as other programs write them: read as they are meant, or refused with line and move."""

import random

import pytest

from oware_env.errors import OwareError
from oware_env.notation import START
from oware_env.records import GameRecord, load_games, read_ogn, save_games
from oware_env.state import State

NEAR_END = "0-0-0-0-0-2-1-2-4-4-0-0-20-15-S"  # F takes b and a: 25 for South
FEW_SEEDS = "1-0-2-0-1-0-1-0-1-0-0-0-21-21-S"
NORTH_BEGINS = START[:-1] + "N"
GAME = GameRecord.from_moves("FfEcCc")


def refused(text):
    """The message with which a text is refused: one line."""
    with pytest.raises(OwareError) as caught:
        read_ogn(text)
    message = str(caught.value)
    assert "\n" not in message
    return message


def as_auale(seed):
    """A random game that ends as in the program Auale, and the file which that program writes.

    A position that comes back ends it, with its own row for each side; the last move's mark is of
    the seeds in the store, those swept up at the end included.
    """
    chance, state = random.Random(seed), State.parse(FEW_SEEDS if seed % 2 else START)
    words, moves, seen = [], [], {state.to_text()}
    for count in range(400):
        if count % 2 == 0:
            words.append(f"{count // 2 + 1}.")
        moves.append(chance.choice(state.legal_moves))
        after = state.play(moves[-1])
        repeats = after.to_text() in seen
        seen.add(after.to_text())
        scores = after.outcome.scores if after.is_over else after.stores
        if repeats and not after.is_over:
            rows = sum(after.houses[:6]), sum(after.houses[6:])
            scores = after.stores[0] + rows[0], after.stores[1] + rows[1]
        seat = 0 if state.south_to_move else 1
        gain = scores[seat] - state.stores[seat]
        words.append(state.legal_letters[state.legal_moves.index(moves[-1])])
        words[-1] += f"+{gain}" if gain else ""
        state = after
        if state.is_over or repeats:
            break
    result = f"{scores[0]}-{scores[1]}"
    roster = {"Variant": "Oware Abapa", "Event": "?", "South": "Ama", "Result": result}
    roster |= {"FEN": FEW_SEEDS} if seed % 2 else {}
    tags = "".join(f'[{name} "{value}"]\n' for name, value in roster.items())
    stated = None if state.is_over else result
    return f"{tags}\n{' '.join(words)} {result}\n", tuple(moves), stated


def test_games_of_auale_are_read_also_those_that_its_rule_for_repetitions_ended():
    ended_by_repetition = 0
    for seed in range(60):
        text, moves, stated = as_auale(seed)
        record = GameRecord.from_ogn(text)
        assert (record.moves, record.stated_result) == (moves, stated)
        assert (record.outcome is None) == (stated is not None)
        assert GameRecord.from_ogn(record.to_ogn()) == record
        ended_by_repetition += stated is not None
    assert 5 < ended_by_repetition < 55


READ = {
    "as Auale begins": ('[Variant "Oware Abapa"]\n\n1. F f 2. E *', GameRecord.from_moves("FfE")),
    "marks on moves": ("1. F! f? 2. E!? c?! 3. C!! c??", GAME),
    "marks behind moves": ("1. F ! f $1 2. E $14 $3 c 3. C$1 c!$139 *", GAME),
    "dots for the other side": ("1. F 1... f 2. E ... c 3. C 3...c", GAME),
    "a number in front of every move": ("1. F 2. f 3. E 4. c 5. C 6. c", GAME),
    "a number without a space": ("1.F f 2.E c 3.C c 4. *", GAME),
    "lower-case letters for both sides": ("1. f f 2. e c 3. c c", GAME),
    "letters of the side in capitals": ("F f E c C c", GAME),
    "tags in lower case": (
        f'[variant "abapa"][fen "{NEAR_END}"][RESULT "25-15"][north "Kofi"][annotator "x"] F+5',
        GameRecord.from_moves("F", NEAR_END, tags={"North": "Kofi", "annotator": "x"}),
    ),
    "North begins, numbered by seats": (
        f'[FEN "{NORTH_BEGINS}"] 1... f 2. A a',
        GameRecord.from_moves("fAa", NORTH_BEGINS),
    ),
    "North begins, numbered by pairs": (
        f'[FEN "{NORTH_BEGINS}"] 1. f A 2. a',
        GameRecord.from_moves("fAa", NORTH_BEGINS),
    ),
    "numbers of a game that began earlier": (
        f'[FEN "{NORTH_BEGINS}"] 12... f 13. A a',
        GameRecord.from_moves("fAa", NORTH_BEGINS),
    ),
    "who won, as the rules say too": (
        f'[FEN "{NEAR_END}"][Result "1-0"] 1. F 25-15',
        GameRecord.from_moves("F", NEAR_END),
    ),
}


@pytest.mark.parametrize("name", READ)
def test_habits_of_other_programs_are_read(name):
    text, record = READ[name]
    assert read_ogn(text) == [record]


@pytest.mark.parametrize("result", ["26-22", "25-20", "0-0", "1-0", "0-1", "1/2-1/2"])
def test_a_result_that_the_rules_do_not_reach_is_kept_as_the_word_of_the_file(result, tmp_path):
    for text in (f"1. F f {result}", f'[Result "{result}"] 1. F f', f'[Result "?"] F f {result}'):
        record = GameRecord.from_ogn(text)
        assert record.stated_result == result and record.outcome is None
        assert record == GameRecord.from_moves("Ff").with_result(result)
        assert record != GameRecord.from_moves("Ff")
        assert f'[Result "{result}"]' in record.to_ogn()
        assert GameRecord.from_ogn(record.to_ogn()) == record
    save_games(tmp_path / "games.npz", [record, GAME])
    assert load_games(tmp_path / "games.npz") == [record, GAME]


def test_an_open_result_states_nothing_and_neither_does_one_that_the_rules_reach():
    for text in ("*", "?"):
        assert GAME.with_result("26-22").with_result(text) == GAME
    won = GameRecord.from_moves("F", NEAR_END)
    assert won.with_result("25-15") == won.with_result("1-0") == won


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f'[FEN "{NEAR_END}"] 1. F 0-1', ["said to be 0-1, the moves end 25-15 (majority)"]),
        (f'[FEN "{NEAR_END}"] 1. F 1/2-1/2', ["said to be 1/2-1/2, the moves end 25-15"]),
        (f'[FEN "{NEAR_END}"]\n[Result "33-15"] 1. F', ["line 2", "33-15, the moves end 25-15"]),
        ("1. F f 2. E 40-9", ["said to be 40-9", "unfinished (*) at 0-0 with 48 seeds"]),
        (f'[FEN "{NEAR_END}"] 19-20', ["said to be 19-20", "unfinished (*) at 20-15 with 13"]),
        ('[Result "1-0"]\n1. F f\n0-1', ["line 3", "said to be 0-1, in line 1 1-0"]),
        ("1. F f 07-03", ["line 1", "07-03 is no result"]),
    ],
)
def test_a_result_that_contradicts_the_rules_or_itself_is_refused(text, parts):
    message = refused(text)
    assert all(part in message for part in parts) or "'07-03' is no result" in message, message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("7. A 9. b 3. C", "line 1: '7.' stands where move 1. belongs"),
        ("1. A 9. b 3. C", "line 1: '9.' stands where move 1... belongs"),
        ("1. A a\n3. B b", "line 2: '3.' stands where move 2. belongs"),
        ("1. A a 2. B 3. b", "line 1: '3.' stands where move 2... belongs"),
        ("1. A 2. a 2. B", "line 1: '2.' stands where move 3. belongs"),
        ("1... A", "line 1: '1...' stands where move 1. belongs"),
        ("1. A a ... B", "line 1: '...' stands where move 2. belongs"),
        ("0. A", "line 1: '0.' is no number of a move"),
        ("01. A", "line 1: '01.' is no number of a move"),
        ("1" + "." * 38 + "AGARBAGE", f"line 1: '1{'.' * 38}A ...' is no number of a move"),
        ("1.AGARBAGE", "line 1, move 1 of South (AGARBAGE): illegal move 'AGARBAGE' in "),
        ("1٫ A", "line 1, move 1 of South (1٫): illegal move '1٫' in "),
        ("1. f", "line 1, move 1 of South (f): illegal move 'f' in "),
        ("1. f F", "line 1, move 1 of South (f): illegal move 'f' in "),
        ("1. ! F", "line 1, move 1 of South (!): illegal move '!' in "),
        ("1. F+00 f", "line 1, move 1 of South (F+00): illegal move 'F+00' in "),
        (f'[FEN "{START}           GARBAGE 1-2-3-N"]', "is too long for a position"),
        (f'[FEN "{START} G"]', "must end in S or N (the side to move), not 'S G'"),
        (f'[fen "{START}"]\n[FEN "{START}"]', "line 2: tag 'FEN' is 'FEN', which stands twice"),
        ('[south "Ama"][South "Esi"]', "line 1: tag 'South' is 'South', which stands twice"),
        ('[Ply "007"]', "line 1: Ply must be a whole number, not '007'"),
        ('[South "\x1b[2JAma"]', "line 1: tag 'South' holds a control character"),
        ('[Variant "Oware Kalah"]', "line 1: Variant is 'Oware Kalah', only Abapa is played"),
    ],
)
def test_what_no_program_means_is_refused_with_its_place(text, message):
    assert message in refused(text)


def test_a_mark_of_seeds_that_a_move_does_not_capture_counts_only_where_the_file_ends_the_game():
    (record,) = read_ogn("1. F f 2. E+26 26-22")
    assert record.moves == (5, 5, 4) and record.stated_result == "26-22"
    for text in ("E+26", "E+26 1-0", "E+25 26-22", "E c+22 3. C 26-22"):
        text = f"1. F f 2. {text}"
        assert "seeds captured, the move captures 0" in refused(text)


def test_a_tag_spelled_otherwise_is_refused_when_a_record_is_made():
    with pytest.raises(OwareError, match="tag 'south' is spelled 'South'"):
        GameRecord.from_moves("F", tags={"south": "Ama"})
    with pytest.raises(OwareError, match="tag 'fen' is worked out from the game"):
        GameRecord.from_moves("F", tags={"fen": START})
