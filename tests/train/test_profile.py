"""Where the time of a run went: nothing is counted twice, nothing is lost."""

import json

import pytest

from agents.neural.network import PRESETS, build_network, operations
from train.profile import Profile, peak_operations, profile_text, read_profile
from train.run import run_config


def _line(**figures):
    names = {"minutes": "total/minutes", "rate": "speed/simulations_per_second"}
    return json.dumps({names.get(k, f"time/{k}"): v for k, v in figures.items()})


def test_the_parts_of_units_add_up(tmp_path, tiny):
    unit = {"unit": 10.0, "network": 6.0, "learner": 2.0, "evaluations": 500.0}
    lines = [
        _line(**unit, waiting=3.0, minutes=0.25, rate=100.0),
        json.dumps({"evaluation/random": 1.0, "total/minutes": 0.3}),
        _line(**unit, waiting=4.0, minutes=0.5, rate=300.0),
    ]
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    found = read_profile(tmp_path, tiny({"workers": 2}))
    assert (found.network, found.tree) == (12.0, 8.0)
    assert found.playing == 20.0
    assert (found.wall, found.learner, found.waiting) == (30.0, 4.0, 7.0)
    assert (found.evaluations, found.simulations) == (1000.0, 4000.0)
    assert read_profile(tmp_path, tiny({"workers": 0})).waiting == 7.0 - 20.0


def test_the_text_gives_shares_of_all_time_and_speed_in_the_network(tiny):
    profile = Profile(100.0, 2, 100.0, 50.0, 30.0, 60.0, 2e6, 4e6, 800.4, 300.0)
    peak = 4 * 2e6 * operations("tiny") / 100.0
    text = profile_text(profile, tiny(), peak)
    assert "2 workers: network 50%, tree 25%, other 25%" in text
    assert "driver: learner 30%, waiting 60%, other 10%" in text
    assert "40,000 simulations a second in all, 20,000 judged by the network" in text
    assert "25% of the" in text
    assert "memory at most: driver 800 MB, a worker 300 MB" in text


def test_operations_count_the_products_of_the_network():
    for preset, (width, depth) in PRESETS.items():
        products = {
            f"blocks.{n}.{part}.weight" for n in range(depth) for part in ("inner", "outer")
        }
        products |= {"policy.weight", "result.weight"}
        weights = build_network(preset).state_dict()
        assert operations(preset) == 2 * sum(weights[name].numel() for name in products), width


def test_the_peak_is_a_speed_that_a_processor_has():
    assert 1e8 < peak_operations() < 1e13


@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_command_prints_a_profile_that_fits_its_run(
    tmp_path, tiny_toml, run_in, capsys, workers
):
    assert run_in(tmp_path, tiny_toml, "--profile", "--workers", workers) == 0
    out = capsys.readouterr().out
    assert "Where " in out and "driver: " in out and "GFLOP/s a core" in out
    run = tmp_path / "runs" / "tiny"
    found = read_profile(run, run_config(run))
    seconds = found.playing + found.learner if workers == "0" else found.learner + found.waiting
    assert 0 < seconds <= found.wall * 1.01
    assert 50 < found.worker_memory < 5_000 and 50 < found.driver_memory < 5_000
    assert found.network > 0 and found.simulations > found.evaluations > 0


def test_more_workers_than_cores_are_pointed_out(tmp_path, tiny_toml, run_in, capsys, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    assert run_in(tmp_path, tiny_toml, "--workers", "2") == 0
    assert "note: more workers (2) than cores (1) are slower together" in capsys.readouterr().err
