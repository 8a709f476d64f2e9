"""The page of a run shows what the run logged, and a run without a log is one line."""

import re

import pytest

from agents import plots
from oware_env.errors import OwareError
from train.report_page import read_metrics, run_page, write_report
from train.run import run_config


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


def test_the_curves_are_the_figures_of_the_log(run, monkeypatch):
    drawn = {}
    draw = plots.curve

    def spy(axes, steps, runs, label, number=0):
        drawn.setdefault(label, (list(steps), runs))  # endgames have a policy too, further down
        draw(axes, steps, runs, label, number)

    monkeypatch.setattr(plots, "curve", spy)
    run_page(run, run_config(run))
    rows = [row for row in read_metrics(run) if "unit" in row]
    assert len(rows) == 6
    assert drawn["policy"][0] == [row["total/minutes"] for row in rows]
    assert drawn["result"][1] == [[row["loss/result"] for row in rows]]
    assert drawn["mean length"][1] == [[row["selfplay/game_length"] for row in rows]]


def test_a_run_with_tables_is_graded_by_its_own(run, monkeypatch):
    monkeypatch.chdir(run.parents[1])
    config = run_config(run)
    assert "Endgames of the final network" not in run_page(run, config)
    both = config.selfplay.model_copy(update={"endgames": "both", "table": 6})
    text = run_page(run, config.model_copy(update={"selfplay": both}))
    section = re.search(r"<h2>Endgames of the final network</h2>(.*?)</section>", text)[1]
    assert "the table of up to 6 seeds" in section
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in section.split("<tr>")[2:]]
    assert [row[:2] for row in rows] == [
        [how, source]
        for how in ("policy alone", "2 simulations")
        for source in ("uniform", "own games")
    ]
    for _, source, decisions, kept, interval, regret in rows:
        if source == "uniform" or int(decisions):
            low, high = (float(part.rstrip("%")) for part in interval.split(" .. "))
            assert int(decisions) > 0 and 0 <= low <= float(kept.rstrip("%")) <= high <= 100
            assert 0 <= float(regret) < 6


def test_without_a_log_it_is_one_line(tmp_path, run):
    with pytest.raises(OwareError, match=r"holds no metrics\.jsonl: nothing was logged there"):
        write_report(tmp_path, run_config(run))
    for text, message in (
        ("", "tells of no games: nothing was learned yet"),
        ('{"evaluation/random": 1.0}\n', "tells of no games: nothing was learned yet"),
        ('{"unit": 0}\n{"unit": 1, "lo', "line 2: not what a run logs"),
    ):
        (tmp_path / "metrics.jsonl").write_text(text)
        with pytest.raises(OwareError, match=message):
            write_report(tmp_path, run_config(run))


def test_a_run_without_its_origin_is_one_line(run, tmp_path):
    for path in run.iterdir():
        if path.name != "run.json":
            (tmp_path / path.name).symlink_to(path)
    with pytest.raises(OwareError, match=r"run\.json cannot be read"):
        run_page(tmp_path, run_config(run))
