"""The configuration of a run: what it accepts, what it refuses and how it says so."""

import pytest

from agents.settings import read_settings
from oware_env.errors import OwareError
from oware_env.rules import Rules
from train.config import ONLY_READ_BY, Budget, Config, Evaluation, Learning, Ppo, Replay, SelfPlay


def _leaves(model, prefix=""):
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Budget.__base__):
            yield from _leaves(field.annotation, f"{prefix}{name}.")
        else:
            yield prefix + name, field


def test_every_field_has_a_one_line_docstring():
    fields = dict(_leaves(Config))
    assert {"seed", "budget.minutes", "selfplay.lag", "evaluation.during"} <= fields.keys()
    for name, field in fields.items():
        assert field.description and "\n" not in field.description.strip(), name
        assert field.description.endswith("."), name


def test_the_defaults_are_a_complete_configuration_with_a_budget_in_minutes():
    config = read_settings(Config)
    assert config == Config()
    assert config.budget.minutes and config.budget.games is None and config.budget.steps is None


def test_a_file_holds_only_differences(tmp_path):
    path = tmp_path / "some.toml"
    path.write_text('name = "some"\n[selfplay]\ngames = 64\n[budget]\nsteps = 10\n')
    config = read_settings(Config, path)
    assert config.selfplay == SelfPlay(games=64)
    assert config.budget == Budget(steps=10)
    assert (config.learning, config.replay) == (Learning(), Replay())


def test_the_command_line_goes_before_the_file(tmp_path):
    path = tmp_path / "some.toml"
    path.write_text("seed = 1\n[selfplay]\ngames = 64\nlag = 2\n")
    config = read_settings(Config, path, {"selfplay.games": 8, "seed": 3})
    assert (config.seed, config.selfplay.games, config.selfplay.lag) == (3, 8, 2)


def test_the_rules_are_abapa_with_the_configured_limit():
    assert Config(max_plies=77).rules == Rules(max_plies=77)


@pytest.mark.parametrize("given", [("minutes", "games"), ("minutes", "steps"), ("games", "steps")])
def test_two_budgets_are_refused_with_both_named(given):
    with pytest.raises(OwareError, match=f"not {given[0]} and {given[1]}"):
        Budget(**{name: 1.0 if name == "minutes" else 1 for name in given})


@pytest.mark.parametrize(
    ("section", "values", "message"),
    [
        (SelfPlay, {"games": -8}, "games must be greater than or equal to 1, not -8"),
        (SelfPlay, {"simulations": 0}, "simulations must be greater than or equal to 1, not 0"),
        (SelfPlay, {"noise": 1.5}, "noise must be less than or equal to 1, not 1.5"),
        (SelfPlay, {"games": 8.5}, "games must be a valid integer, not 8.5"),
        (SelfPlay, {"lag": "four"}, "lag must be a valid integer, not 'four'"),
        (Learning, {"learning_rate": 0.0}, "learning_rate must be greater than 0, not 0.0"),
        (Learning, {"average": 1.0}, "average must be less than 1, not 1.0"),
        (Replay, {"growth": -0.1}, "growth must be greater than or equal to 0, not -0.1"),
        (Evaluation, {"games_during": 7}, "games_during must be a multiple of 2, not 7"),
        (Ppo, {"clip": 0.0}, "clip must be greater than 0, not 0.0"),
        (Ppo, {"trace": 1.1}, "trace must be less than or equal to 1, not 1.1"),
        (Ppo, {"pool_share": -0.5}, "pool_share must be greater than or equal to 0, not -0.5"),
        (Evaluation, {"simulations": -1}, "simulations must be greater than or equal to 0, not -1"),
        (Config, {"algorithm": "dqn"}, "algorithm must be 'alphazero' or 'ppo', not 'dqn'"),
        (
            Config,
            {"algorithm": "ppo", "selfplay": {"simulations": 33}},
            "selfplay.simulations is read by alphazero only, and algorithm is 'ppo'",
        ),
        (
            Config,
            {"algorithm": "ppo", "replay": {"most": 9}},
            "replay.most is read by alphazero only, and algorithm is 'ppo'",
        ),
        (
            Config,
            {"ppo": {"epochs": 3}},
            "ppo.epochs is read by ppo only, and algorithm is 'alphazero'",
        ),
        (SelfPlay, {"endgames": "tables"}, "'search' or 'both', not 'tables'"),
        (SelfPlay, {"endgames": "both", "table": 25}, "must be less than or equal to 24, not 25"),
        (SelfPlay, {"endgames": "both", "played_on": 1.5}, "less than or equal to 1, not 1.5"),
        (SelfPlay, {"endgames": "none", "table": 12}, "table is not read when endgames is 'none'"),
        (
            SelfPlay,
            {"endgames": "none", "rescore": False},
            "rescore is not read when endgames is 'none'",
        ),
        (
            SelfPlay,
            {"endgames": "search", "played_on": 0.5},
            "played_on is not read when endgames is 'search'",
        ),
        (
            SelfPlay,
            {"endgames": "search", "lessons": 0},
            "lessons is not read when endgames is 'search'",
        ),
        (
            Config,
            {"algorithm": "ppo", "selfplay": {"endgames": "search"}},
            "selfplay.endgames is read by alphazero only, and algorithm is 'ppo'",
        ),
        (
            Config,
            {"name": "a/b"},
            "name must match pattern '^[A-Za-z0-9_-][A-Za-z0-9._-]*$', not 'a/b'",
        ),
        (Config, {"network": "huge"}, "'medium', 'deep' or 'large', not 'huge'"),
        (Config, {"selfplays": {}}, "unknown key 'selfplays'; the nearest is 'selfplay'"),
        (Config, {"selfplay": {"simulation": 3}}, "the nearest is 'selfplay.simulations'"),
        (Config, {"workers": True}, "workers must be a valid integer, not True"),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(section, values, message):
    with pytest.raises(OwareError) as raised:
        section(**values)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_one_algorithm_reads_alone_is_there():
    for sections in ONLY_READ_BY.values():
        for section, names in sections.items():
            assert set(names) <= type(getattr(Config(), section)).model_fields.keys()


def test_the_settings_of_a_mode_are_taken_with_it():
    given = SelfPlay(endgames="search", table=10, rescore=False)
    assert (given.table, given.rescore) == (10, False)
    assert SelfPlay(endgames="adjudicate", played_on=0.0).played_on == 0.0


def test_a_configuration_cannot_be_changed_afterwards():
    with pytest.raises(ValueError, match="frozen"):
        Config().seed = 3
