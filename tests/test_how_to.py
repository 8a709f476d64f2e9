"""The scripts of docs/how_to run from the checkout as a reader runs them, with tiny budgets."""

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
HOW_TO = ROOT / "docs" / "how_to"
SCRIPTS = {path.stem: path for path in sorted(HOW_TO.glob("*.py"))}
ELSEWHERE = {"tianshou_dqn", "rllib_ppo"}  # `make compat` runs them in environments of their own

# What a match prints: "A against B: 93.2% [90.0%, 96.2%] in 200 paired games (+185 =3 -12)".
MATCH = r"{} against {}: \d+\.\d% \[\d+\.\d%, \d+\.\d%\] in {} paired games \(\+\d+ =\d+ -\d+\)"


def match_line(agent, opponent, games):
    return MATCH.format(agent, opponent, games)


# name: (libraries it needs, options that make it short, patterns its output must hold)
RUNS = {
    "maskable_ppo": (
        ["sb3_contrib"],
        ["--steps", "1024", "--games", "20", "--path", "{folder}/model.zip"],
        [match_line("maskable-ppo", other, 20) for other in ("random", "greedy")],
    ),
    "torchrl_masked": (
        ["torchrl"],
        ["--frames", "10240", "--games", "20"],
        [
            r"batch 5: mean reward [+-]\d\.\d\d in \d+ games",
            match_line("torchrl-ppo", "random", 20),
            match_line("torchrl-ppo", "greedy", 20),
        ],
    ),
    "plain_self_play": (
        [],
        ["--updates", "25", "--games", "20"],
        [
            r"update 25: value error \d\.\d{3}",
            match_line("self-play", "random", 20),
            match_line("self-play", "greedy", 20),
        ],
    ),
    "their_policy": (
        [],
        ["--games", "20"],
        [
            match_line("fullest-house", "greedy", 20),
            match_line("last-house", "fullest-house", 20),
            r"fullest-house +60 +\d+/\d+/\d+ ",
        ],
    ),
    "rule_variant": (
        [],
        ["--games", "2000", "--matches", "20"],
        [
            r"at most 50 plies: careful against greedy: .* \d+% stopped by the limit",
            "abapa: offers AF, F captures 0\nslams capture: offers AF, F captures 2\n",
            "never leave empty: offers A\nawari: offers A\n",
            *(
                rf"{name}: in 2,000 random games the first player scores \d+\.\d\d% \[\d+\.\d\d%, "
                for name in ("abapa", "slams capture", "never leave empty", "awari")
            ),
            r"State.initial\(AWARI\): games are played under abapa, not awari",
        ],
    ),
    "million_games": (
        [],
        ["--games", "3000", "--size", "512"],
        [
            r"3,000 games, 3\d\d,\d{3} moves in \d+\.\d s",
            r"first player scores 4\d\.\d\d% \[4\d\.\d\d%, \d\d\.\d\d%\]",
            r"ended by majority: 7\d\.\d{3}%",
        ],
    ),
}


def run(name, options, folder):
    """What a script prints; it must end well."""
    command = [sys.executable, str(SCRIPTS[name].relative_to(ROOT))]
    command += [option.format(folder=folder) for option in options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def need(libraries):
    for library in libraries:
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"needs {library}: the extra compat")


def test_every_script_is_tested():
    assert set(RUNS) == set(SCRIPTS) - ELSEWHERE


@pytest.mark.parametrize("name", RUNS)
def test_a_script_runs_and_prints_its_figures(name, tmp_path):
    libraries, options, patterns = RUNS[name]
    need(libraries)
    printed = run(name, options, tmp_path)
    for pattern in patterns:
        assert re.search(pattern, printed), f"{pattern!r} is not in:\n{printed}"


@pytest.mark.parametrize("name", RUNS)
def test_a_script_explains_itself_and_the_options_it_has(name):
    tree = ast.parse(SCRIPTS[name].read_text())
    explanation = ast.get_docstring(tree)
    assert f"    python docs/how_to/{name}.py --" in explanation
    [main] = [node for node in tree.body if getattr(node, "name", "") == "main"]
    options = {f"--{parameter.arg.replace('_', '-')}" for parameter in main.args.args}
    assert set(re.findall(r"(?<=\s)--[a-z-]+", explanation)) <= options
    assert len(main.args.defaults) == len(main.args.args)


def test_the_index_lists_every_page_and_script():
    index = (HOW_TO / "README.md").read_text()
    for path in sorted([*HOW_TO.glob("*.py"), *HOW_TO.glob("*.md")]):
        assert path.name == "README.md" or f"({path.name})" in index, path.name


def test_the_same_million_games_are_counted_whatever_the_size_of_the_batch():
    specification = importlib.util.spec_from_file_location("million", SCRIPTS["million_games"])
    script = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(script)
    small, large = (script.play_games(300, size, seed=3) for size in (64, 300))
    for one, other in zip(small, large, strict=True):
        assert np.array_equal(one, other)
    assert (small[1] > 0).all() and (small[2] > 0).all()


@pytest.mark.slow
def test_plain_self_play_learns_to_beat_both_baselines(tmp_path):
    printed = run("plain_self_play", ["--updates", "600", "--games", "400"], tmp_path)
    scores = dict(re.findall(r"self-play against (\w+): (\d+\.\d)%", printed))
    assert float(scores["random"]) >= 97, printed  # measured: 99.8 to 100 % with seeds 0, 1, 2
    assert float(scores["greedy"]) >= 70, printed  # measured: 84 to 90 %
