"""Specs of any kind: a path may hold colons, a value reads back as it was, nothing but one line."""

import os
import random
import shutil
import string

import pytest

import agents
from agents.neural.checkpoint import write_checkpoint
from agents.neural.network import build_network
from agents.roster import CHAMPION, ROSTER, identity, parse_spec
from agents.search.alphabeta import AlphaBeta
from agents.search.match_play import MatchPlay
from agents.trained import load_agent
from oware_env.errors import OwareError
from oware_env.rules import Rules


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current folder, empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_run(folder, seed=0):
    """The folder of a run."""
    weights = build_network("tiny", seed).state_dict()
    state = {"rules": Rules()._asdict(), "network": "tiny"}
    folder.mkdir(parents=True, exist_ok=True)
    write_checkpoint(folder / "checkpoints" / "step-00000001", {"ema": weights}, state)
    return folder


def refusal(action, *arguments):
    """The one line that an action is refused with."""
    with pytest.raises(OwareError) as caught:
        action(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("spec", "name", "sims"),
    [
        ("runs/2026-12-07T10:00/t", "runs/2026-12-07T10:00/t", None),
        ("runs/2026-12-07T10:00/t:sims=64", "runs/2026-12-07T10:00/t", 64),
        ("C:\\runs\\t", "C:\\runs\\t", None),
        ("C:\\runs\\t:sims=64", "C:\\runs\\t", 64),
        ("C:/runs/t: sims=64", "C:/runs/t", 64),
        ("a/b=c:d", "a/b=c:d", None),
        ("a/b:12:30", "a/b:12:30", None),
        ("a/b:12:30:sims=8", "a/b:12:30", 8),
    ],
)
def test_a_colon_or_a_drive_letter_is_part_of_a_path(here, spec, name, sims):
    parsed = parse_spec(spec)
    assert (parsed.name, parsed.values["sims"]) == (name, sims)
    assert parse_spec(str(parsed)) == parsed


def test_a_path_that_exists_as_a_whole_is_one(here):
    (here / "t:sims=64").mkdir()
    assert parse_spec("t:sims=64").name == "t:sims=64"
    assert parse_spec("t:sims=64:sims=8").name == "t:sims=64"
    (here / "t").mkdir()
    (here / "random").mkdir()
    assert parse_spec("random").name == "random"
    assert "'t:sims=64' is the name of a folder as well" in refusal(parse_spec, "t: sims=64")
    assert "write parameters as key=value, not 'sims'" in refusal(parse_spec, "t:sims")


def test_a_run_in_a_folder_with_a_colon_plays(here):
    write_run(here / "2026-12-07T10:00" / "t")
    agent = agents.make("2026-12-07T10:00/t:sims=2")
    assert agent.name == "2026-12-07T10:00/t:sims=2"


@pytest.mark.parametrize(
    "text",
    [
        *("1_0", "８", " 8", "8 ", "+8", "-8", "8.0", "08", "0x8", "1e1", "inf", "nan", "", "٣"),
        *("9" * 4000, "8\u200b", "True", "None", "8\t"),
    ],
)
def test_a_number_is_written_in_plain_digits(text):
    for spec, key in (("alphabeta", "depth"), ("mcts", "sims"), ("alphabeta", "table")):
        message = refusal(parse_spec, f"{spec}:{key}={text},evaluation=full")
        assert f"{key} must be a whole number from" in message
    if text not in ("8.0", "9" * 4000):
        for spec, key in (("mcts", "time"), ("openspiel-mcts", "uct")):
            assert "must be a number from" in refusal(parse_spec, f"{spec}:{key}={text},sims=9")


@pytest.mark.parametrize("text", ["0.14294967296", "0.001", "86400", "0.30000000000000004", "1.5"])
def test_seconds_read_back_as_they_were(text):
    parsed = parse_spec(f"mcts:time={text}")
    assert parsed.values["time"] == float(text)
    assert parse_spec(str(parsed)) == parsed and str(parsed) == f"mcts:time={text}"
    assert str(MatchPlay(time=float(text))) == f"time={text}"
    assert AlphaBeta(Rules(), time=float(text)).name == f"alphabeta:time={text}"


@pytest.mark.parametrize(
    "spec",
    [
        *(
            "a" * 300,
            "runs/" + "a" * 300,
            "runs/" + "a" * 300 + ":sims=2",
            "日" * 200 + "/t",
            "a" * 5000,
        ),
        *("..", ".", "/", "./", "../..", ":", ":sims=4", "::", "=", "/:=", "a\0b/c", "\x1b[31m/t"),
        *("runs/a\nb", "runs/\ud800", "random\x07", "x/" * 2000, "\u2028/t", "[**/]"),
    ],
)
def test_any_name_is_refused_in_one_line(here, spec):
    for action in (agents.make, identity):
        message = refusal(action, spec)
        assert "\x1b" not in message and "\0" not in message


def odd_specs(choose, count):
    """Texts that look like specs more or less."""
    names = [*ROSTER, "runs/t", "C:\\t", "t:1", "./a", "", ".", "a b/c", "é/日", "runs/ t"]
    keys = ["depth", "time", "sims", "table", "reuse", "choice", "evaluation", "uct", "x", ""]
    words = ["yes", "no", "lcb", "visits", "full", "material", "", "inf", "nan", "1e3", "0x1"]
    letters = string.printable + "８٣é\u00a0\u200b\u2028\x1b\0\ud800"
    for _ in range(count):
        text = choose.choice(names)
        if choose.random() < 0.8:
            pairs = []
            for _ in range(choose.randrange(4)):
                number = choose.choice(
                    [choose.randrange(2000), choose.random(), choose.random() * 99]
                )
                pairs.append(f"{choose.choice(keys)}={choose.choice([number, *words[:4], *words])}")
            text += ":" + ",".join(pairs)
        for _ in range(choose.choice([0, 0, 0, 1, 2])):
            place = choose.randrange(len(text) + 1)
            text = text[:place] + choose.choice(letters) + text[place + choose.randrange(2) :]
        yield text


def hammer(count, seed):
    """Read so many odd specs; how many were taken."""
    taken = 0
    for text in odd_specs(random.Random(seed), count):
        try:
            parsed = parse_spec(text)
        except OwareError as error:
            assert "\n" not in str(error) and "\x1b" not in str(error), text
            continue
        taken += 1
        normal = str(parsed)
        assert parse_spec(normal) == parsed, text
        assert str(parse_spec(normal)) == normal
        for key, value in parsed.values.items():  # what was given is what is meant
            entry = ROSTER.get(parsed.name, ROSTER["champion"])
            assert value is None or type(value) is entry.parameters[key].kind
    return taken


def test_whatever_is_taken_has_a_normal_form_that_says_the_same(here):
    assert 500 < hammer(4000, 0) < 3000


def test_an_agent_is_the_same_whatever_its_folder_is_called(here):
    first, other = write_run(here / "runs" / "first"), write_run(here / "runs" / "other", seed=1)
    name = identity("runs/first")
    assert name.startswith("network-") and len(name) == len("network-") + 16
    assert identity("runs/first:sims=64") == f"{name}:sims=64"
    assert identity(str(first)) == identity(f"{first}/") == name
    assert identity(parse_spec("runs/first:choice=lcb,sims=64")) == f"{name}:sims=64"
    os.rename(first, here / "moved")
    shutil.copytree(here / "moved", here / "a:copy")
    assert identity("moved:time=0.5") == identity("a:copy:time=0.50") == f"{name}:time=0.5"
    assert identity(str(other)) != name
    write_run(here / "moved", seed=2)  # learned on
    assert identity("moved") != name
    assert identity("champion:sims=8") == identity(f"{CHAMPION}:sims=8")


def test_the_identity_of_other_agents_is_their_normal_form(here):
    assert identity("random") == "random"
    assert identity("alphabeta: evaluation=full") == "alphabeta:depth=6"
    (here / "empty").mkdir()
    assert "holds no checkpoint" in refusal(identity, "empty")
    assert "there is no run" in refusal(identity, "./none:sims=3")
    write_checkpoint(here / "odd", {"other": {}}, {})
    assert "odd/state.json lists no file 'ema'" in refusal(identity, "odd")


@pytest.mark.parametrize(
    "spec", ["mcts:sims=2", "alphabeta:depth=1", "champion", "champion:sims=2"]
)
def test_positions_that_are_none_are_refused_by_every_search(spec):
    agent = agents.make(spec)
    for positions in (None, 7, [], (1, 2), ([[0] * 13], [0], [0]), ([[0.5] * 14], [0], [0])):
        refusal(agent.decide, positions)


@pytest.mark.parametrize("path", [None, 7, b"runs", ["runs"]])
def test_a_folder_that_is_no_text_is_refused(path):
    assert "a run is a folder such as 'runs/NAME', not " in refusal(load_agent, path)
