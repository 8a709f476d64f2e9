"""Alarms: each is raised when it should be, once, and never in a run that goes well."""

import json

import pytest

from train.alarms import UNITS, Alarms

WELL = {
    "selfplay/policy_entropy": 0.8,
    "selfplay/limit_share": 0.05,
    "selfplay/draw_rate": 0.06,
    "loss/result": 0.7,
}


def unit(**changes):
    return WELL | {name.replace("__", "/"): value for name, value in changes.items()}


def evaluation(score, low, high, opponent="greedy"):
    names = ("evaluation", "evaluation_low", "evaluation_high", "evaluation_games")
    return {f"{n}/{opponent}": v for n, v in zip(names, (score, low, high, 64.0), strict=True)}


def raised(alarms, figures, times):
    return [text for _ in range(times) for text in alarms.note(figures)]


def test_a_run_that_goes_well_raises_none():
    alarms = Alarms()
    assert raised(alarms, unit(), 200) == []
    for score in (0.3, 0.5, 0.45, 0.9, 0.88, 0.95):
        assert alarms.note(evaluation(score, score - 0.1, score + 0.1)) == []


ALARMS = {
    "the policy has collapsed": {"selfplay__policy_entropy": 0.01},
    "the value has learned nothing": {"loss__result": 0.88},
    "games go round in circles": {"selfplay__limit_share": 0.4},
}


@pytest.mark.parametrize("words", ALARMS)
def test_an_alarm_is_raised_once_and_not_by_one_bad_unit(words):
    alarms = Alarms()
    assert raised(alarms, unit(), 2 * UNITS + 1) == []
    bad = unit(**ALARMS[words])
    assert alarms.note(bad) == []
    texts = raised(alarms, bad, 3 * UNITS)
    assert len(texts) == 1 and texts[0].startswith(words)


def test_a_limit_share_that_was_high_from_the_start_is_no_alarm():
    assert raised(Alarms(), unit(selfplay__limit_share=0.4), 100) == []


def test_a_score_that_falls_beyond_its_interval_is_an_alarm():
    alarms = Alarms()
    assert alarms.note(evaluation(0.8, 0.7, 0.88)) == []
    assert alarms.note(evaluation(0.65, 0.55, 0.75)) == [], "the intervals overlap"
    assert alarms.note(evaluation(0.5, 0.4, 0.6, "careful")) == [], "another opponent"
    (text,) = alarms.note(evaluation(0.5, 0.4, 0.6))
    assert text.startswith("the player got worse: 50% [40%, 60%] against greedy, it was 80% [")


def test_ppo_has_no_search_and_no_such_alarm():
    figures = {"loss/result": 0.6, "selfplay/limit_share": 0.0}
    assert raised(Alarms(), figures, 100) == []


def test_an_alarm_stands_in_the_metrics_and_on_the_screen(
    tmp_path, tiny_toml, run_in, capsys, monkeypatch
):
    monkeypatch.setattr("train.alarms.LEAST_ENTROPY", 100.0)
    monkeypatch.setattr("train.alarms.UNITS", 3)
    assert run_in(tmp_path, tiny_toml) == 0
    assert capsys.readouterr().out.count("ALARM after ") == 1
    lines = (tmp_path / "runs" / "tiny" / "metrics.jsonl").read_text().splitlines()
    (alarm,) = (json.loads(line)["alarm"] for line in lines if "alarm" in json.loads(line))
    assert alarm.startswith("the policy has collapsed")
