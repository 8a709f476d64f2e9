"""What plays of a run, as a folder to share."""

import numpy as np
import pytest

import agents
from agents.arena.oracle import uniform_positions
from agents.neural.checkpoint import newest_checkpoint, read_state
from oware_env.errors import OwareError
from train.command import train
from train.release import release


def test_a_released_agent_plays_as_its_run_does_and_says_how_it_came_to_be(finished, tmp_path):
    folder, positions = tmp_path / "shared", uniform_positions(seeds=20, count=50)
    said = release(finished, folder)
    assert said.startswith(f"{folder} holds the agent of {finished}")
    assert sorted(file.name for file in folder.iterdir()) == ["ema.safetensors", "state.json"]
    for spec in ("", ":sims=8"):
        theirs = agents.make(f"{finished}{spec}").decide(positions)
        ours = agents.make(f"{folder}{spec}").decide(positions)
        for a, b in zip(theirs, ours, strict=True):
            np.testing.assert_array_equal(a, b)
    about, state = read_state(folder), read_state(newest_checkpoint(finished))
    for name in ("config", "seed", "commit", "games"):
        assert about[name] == state[name]


def test_mistakes_are_one_line_and_nothing_is_overwritten(finished, tmp_path):
    (tmp_path / "there").mkdir()
    with pytest.raises(OwareError, match="is there already: name a new folder"):
        release(finished, tmp_path / "there")
    with pytest.raises(OwareError, match="holds no checkpoint"):
        release(tmp_path / "there", tmp_path / "new")
    with pytest.raises(OwareError, match="give a run and a new folder"):
        train(["release", str(finished)])


def test_the_command_writes_the_folder(finished, tmp_path, capsys):
    train(["release", str(finished), str(tmp_path / "mine")])
    assert f"play it as {tmp_path / 'mine'}:sims=64" in capsys.readouterr().out
    assert (tmp_path / "mine" / "state.json").is_file()
