"""The page of a run shows what the run logged, and a run without a log is one line."""

import re

import pytest

from oware_env.errors import OwareError
from train.command import run_config
from train.report_page import read_metrics, run_page, write_report


@pytest.fixture(scope="module")
def run(tmp_path_factory, tiny_toml, run_in):
    folder = tmp_path_factory.mktemp("reported")
    words = ("--evaluation.at-end", "random", "--evaluation.report")
    assert run_in(folder, tiny_toml, *words) == 0
    return folder / "runs" / "tiny"


def test_training_ends_with_the_page_of_the_run(run):
    text = (run / "report.html").read_text(encoding="utf-8")
    last = read_metrics(run)[-1]
    assert "<h1>Run tiny</h1>" in text and "48 games" in text
    assert f"{last['step']:,} steps" in text
    for title in ("Strength while it learned", "Ratings", "Learning", "Games it learned from"):
        assert f"<h2>{title}</h2>" in text
    assert "<h2>Endgames at the last evaluation</h2>" in text
    assert text.count("<svg") >= 10 and "game 47: " in text


def test_it_can_be_written_again_without_playing(run, capsys, run_in):
    before = (run / "report.html").read_text(encoding="utf-8")
    (run / "report.html").unlink()
    assert run_in(run.parents[1], "report", "tiny") == 0
    assert capsys.readouterr().out.strip() == str(run.relative_to(run.parents[1]) / "report.html")
    assert (run / "report.html").read_text(encoding="utf-8") == before


def test_a_run_without_a_tournament_has_a_page_without_ratings(run):
    text = run_page(run, run_config(run))
    assert "<h2>Ratings</h2>" not in text and "<h2>Learning</h2>" in text


def test_the_curves_hold_the_figures(run):
    text = run_page(run, run_config(run))
    drawn = re.search(r"How far the network is.*?<figure>", text, re.DOTALL)[0]
    assert len(read_metrics(run)) >= 6
    assert drawn.count("<use") + drawn.count("<path") > 10


def test_without_a_log_it_is_one_line(tmp_path, run):
    with pytest.raises(OwareError, match=r"holds no metrics\.jsonl: nothing was logged there"):
        write_report(tmp_path, run_config(run))
    (tmp_path / "metrics.jsonl").write_text("")
    with pytest.raises(OwareError, match="is empty: nothing was learned yet"):
        write_report(tmp_path, run_config(run))
