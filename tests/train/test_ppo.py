"""PPO: what a unit leaves behind, and that learning from it moves the policy the right way."""

import numpy as np
import pytest
import torch

import train.ppo
from agents.neural.bfloat16 import AVAILABLE
from agents.neural.network import MARGIN_CLASSES, Heads
from agents.workers import open_executor
from oware_env.encoding import MASKS
from oware_env.state import State
from train.ppo import (
    AS_NORTH,
    AS_SOUTH,
    LIVE,
    PPO,
    Experience,
    learn_unit,
    learner_seats,
    log_policy,
    play_unit,
    policy_losses,
    unit_losses,
)
from train.samples import DRAW, LOSS, WIN
from train.selfplay import SelfPlayUnit, start_games


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


def _unit(config, number=3):
    return SelfPlayUnit(PPO(config).unit_weights(number), config, number)


@pytest.fixture(scope="module")
def config(tiny_ppo):
    return tiny_ppo({"selfplay.games": 96, "max_plies": 400})


@pytest.fixture(scope="module")
def played(config):
    return play_unit(_unit(config))


def _batch(experience):
    """An experience as the minibatch of one step, its advantages as they are."""
    batch = {name: torch.from_numpy(array) for name, array in experience._asdict().items()}
    return batch | {n: batch[n].long() for n in ("legal", "moves", "results", "margins")}


# --- What a unit leaves behind ---


def test_half_of_the_games_are_live_and_the_learner_has_each_seat_in_half_of_the_rest(tiny_ppo):
    for share, counts in ((0.5, [4, 2, 2]), (0.0, [8, 0, 0]), (1.0, [0, 4, 4]), (0.25, [6, 1, 1])):
        seats = learner_seats(tiny_ppo({"ppo.pool_share": share}))
        assert np.bincount(seats, minlength=3).tolist() == counts


def test_the_same_unit_gives_the_same_bytes_here_and_in_a_worker(tiny_ppo):
    config = tiny_ppo()
    units = [_unit(config), _unit(config, 4), _unit(config)]
    with open_executor(1) as executor:
        first, other, again = executor.run_in_order(play_unit, units)
    assert _bytes(first) == _bytes(again) == _bytes(play_unit(units[0])) != _bytes(other)


def _bytes(played):
    return [array.tobytes() for array in (*played.experience, *played.ends)]


def _blocks(config, number, ends):
    """The decisions in the order they were noted: (ply of the game, game, South moved)."""
    starts = start_games(config, number)
    first, south = starts.positions().plies.copy(), starts.south_to_move.copy()
    seats = learner_seats(config)
    found = []
    for turn in range(int((ends.plies - first).max())):
        for game in range(len(first)):
            mover_is_south = bool(south[game]) == (turn % 2 == 0)
            learns = {LIVE: True, AS_SOUTH: mover_is_south, AS_NORTH: not mover_is_south}
            if first[game] + turn < ends.plies[game] and learns[seats[game]]:
                found.append((first[game] + turn, game, mover_is_south))
    return found


def test_the_decisions_are_the_learners_and_their_results_those_of_the_games(config, played):
    experience, ends = played.experience, played.ends
    blocks = _blocks(config, 3, ends)
    assert len(blocks) == len(experience.moves)
    margins = ends.scores[:, 0].astype(int) - ends.scores[:, 1]
    seats, seen = learner_seats(config), set()
    for row, (ply, game, south) in enumerate(blocks):
        mine = margins[game] if south else -margins[game]
        assert experience.results[row] == (WIN if mine > 0 else LOSS if mine < 0 else DRAW)
        assert experience.inputs[row, 14] == min(64, config.max_plies - ply)
        seen.add((int(seats[game]), south, int(experience.results[row])))
    for kind in ((LIVE, True), (LIVE, False), (AS_SOUTH, True), (AS_NORTH, False)):
        assert {(*kind, WIN), (*kind, LOSS)} <= seen


def test_advantages_with_a_trace_of_one_are_results_less_values_in_every_kind_of_game(tiny_ppo):
    config = tiny_ppo({"selfplay.games": 32, "ppo.trace": 1.0})
    experience = play_unit(_unit(config)).experience
    results = np.array([1.0, 0.0, -1.0])[experience.results]
    assert {WIN, LOSS} <= set(experience.results.tolist())
    assert np.allclose(experience.advantages, results - experience.values, atol=1e-5)


def test_the_masks_are_the_legal_moves_and_the_moves_are_drawn_from_them(played):
    experience = played.experience
    fed = 0
    for row in range(len(experience.moves)):
        board = experience.inputs[row].astype(np.int8)[:14]
        legal = State.from_board(board, True).legal_moves
        assert np.flatnonzero(MASKS[experience.legal[row]]).tolist() == list(legal)
        assert experience.moves[row] in legal
        fed += len(legal) < np.count_nonzero(board[:6])
    assert fed > 0, "the duty to feed narrows the moves somewhere"


def test_moves_are_drawn_as_often_as_the_policy_says(config, played):
    """A drawn move's chance is on average the sum of the squared chances of all moves."""
    batch = _batch(played.experience)
    with torch.no_grad():
        logs = log_policy(PPO(config).learner.network(batch["inputs"]), batch["legal"])
    squares = logs.exp().square().sum(dim=1).mean()
    assert float(batch["log_chances"].exp().mean()) == pytest.approx(float(squares), abs=0.01)


def test_the_ratio_is_one_when_the_learner_has_the_weights_that_played(config, played):
    network = PPO(config).learner.network
    batch = _batch(played.experience)
    logs = log_policy(network(batch["inputs"]), batch["legal"])
    mine = logs.gather(1, batch["moves"][:, None])[:, 0].detach()
    # Factors of 8 bits are rounded once with the norm's scale in them, where games are played, and
    # once without. The chances of a move that it was drawn with are the former, as they should be.
    assert torch.allclose(mine, batch["log_chances"], atol=5e-3 if AVAILABLE else 2e-5)
    assert abs(float((mine - batch["log_chances"]).mean())) < (2e-4 if AVAILABLE else 2e-5)
    parts = policy_losses(network(batch["inputs"]), batch, 0.2)
    assert parts["clip_share"] == 0.0 and abs(float(parts["kl"])) < (1e-6 if AVAILABLE else 1e-7)


def test_the_figures_are_those_of_the_games(config, played):
    figures, ends, seats = played.figures, played.ends, learner_seats(config)
    margin = ends.scores[:, 0].astype(int) - ends.scores[:, 1]
    live, points = seats == LIVE, (np.sign(margin) + 1) / 2
    mine = np.where(seats == AS_SOUTH, points, 1 - points)[~live]
    assert figures["games"] == 96
    assert figures["decisions"] == len(played.experience.moves)
    assert figures["game_length"] == pytest.approx(ends.plies[live].mean())
    assert figures["draw_rate"] == pytest.approx((margin[live] == 0).mean())
    assert figures["first_player_score"] == pytest.approx(points[live].mean())
    assert figures["pool_score"] == pytest.approx(mine.mean())
    results = np.array([1.0, 0.0, -1.0])[played.experience.results]
    missed = results - played.experience.values
    assert figures["explained_variance"] == pytest.approx(1 - missed.var() / results.var())


# --- What is learned from it ---


def _heads(seed, count):
    generator = torch.Generator().manual_seed(seed)
    return Heads(*(torch.randn(count, n, generator=generator) for n in (6, 3, MARGIN_CLASSES)))


def _decisions(legal, moves, log_chances, advantages):
    return {
        "legal": torch.tensor(legal),
        "moves": torch.tensor(moves),
        "log_chances": torch.tensor(log_chances),
        "advantages": torch.tensor(advantages),
    }


def test_a_position_with_one_legal_move_has_no_entropy_and_gives_no_gradient():
    heads = _heads(0, 6)
    heads.policy.requires_grad_()
    moves = list(range(6))
    batch = _decisions([1 << move for move in moves], moves, [0.0] * 6, [1.0] * 6)
    parts = policy_losses(heads, batch, 0.2)
    assert parts["entropy"] == 0.0 and parts["policy"] == -1.0
    (parts["policy"] - parts["entropy"]).backward()
    assert not heads.policy.grad.any()


def test_entropy_is_that_of_the_legal_moves():
    heads = Heads(torch.zeros(2, 6), *_heads(0, 2)[1:])
    batch = _decisions([0b101, 0b111111], [0, 3], [0.0, 0.0], [0.0, 0.0])
    expected = (np.log(2) + np.log(6)) / 2
    assert float(policy_losses(heads, batch, 0.2)["entropy"]) == pytest.approx(expected)


def test_the_policy_loss_is_clipped_only_where_a_move_has_already_gone_far_enough():
    """Two moves at 50 %: drawn with 25 % the ratio is 2, drawn with 100 % it is one half."""
    heads = Heads(torch.zeros(1, 6), *_heads(0, 1)[1:])
    rows = {  # (chance it was drawn with, advantage): (gain, is clipped)
        (0.25, 1.0): (1.2, True),
        (0.25, -1.0): (-2.0, False),
        (1.0, 1.0): (0.5, False),
        (1.0, -1.0): (-0.8, True),
        (0.5, 1.0): (1.0, False),
    }
    for (chance, advantage), (gain, is_clipped) in rows.items():
        logits = heads.policy.clone().requires_grad_()
        batch = _decisions([0b11], [0], [float(np.log(chance))], [advantage])
        parts = policy_losses(heads._replace(policy=logits), batch, 0.2)
        assert parts["policy"].item() == pytest.approx(-gain, abs=1e-6)
        assert float(parts["clip_share"]) == (chance != 0.5)
        parts["policy"].backward()
        assert bool(logits.grad.any()) != is_clipped
        assert not logits.grad[0, 2:].any(), "moves that are not legal"


def test_the_total_is_the_weighted_sum_of_its_parts(tiny_ppo, played):
    weights = {"ppo.value_weight": 0.7, "ppo.entropy_weight": 0.03, "learning.margin_weight": 0.4}
    config = tiny_ppo(weights)
    batch = _batch(Experience(*(array[:50] for array in played.experience)))
    parts = unit_losses(PPO(config).learner.network(batch["inputs"]), batch, config)
    value = parts["result"] + 0.4 * parts["margin"]
    expected = parts["policy"] + 0.7 * value - 0.03 * parts["entropy"]
    assert torch.allclose(parts["total"], expected)


PLAIN = {  # one step of the policy alone
    "ppo.epochs": 1,
    "ppo.trace": 1.0,
    "ppo.value_weight": 0.0,
    "ppo.entropy_weight": 0.0,
    "learning.batch": 1000,
    "learning.warmup_steps": 0,
}


def _one_game(config, winner):
    """A game from the first unit whose only game the seat won, and the learner that played it."""
    for number in range(100):
        algorithm = PPO(config)
        played = play_unit(SelfPlayUnit(algorithm.unit_weights(number), config, number))
        south, north = played.ends.scores[0]
        if south != north and (south > north) == (winner == "south"):
            return algorithm, played.experience
    raise AssertionError("no such game")


def _mean_log_chances(learner, experience):
    """Mean log-probabilities of the moves of the winner and of the loser."""
    batch = _batch(experience)
    with torch.no_grad():
        logs = log_policy(learner.network(batch["inputs"]), batch["legal"])
    mine = logs.gather(1, batch["moves"][:, None])[:, 0].numpy()
    return mine[experience.results == WIN].mean(), mine[experience.results == LOSS].mean()


@pytest.mark.parametrize("winner", ["south", "north"])
def test_one_step_makes_the_winners_moves_likelier_and_the_losers_less_likely(tiny_ppo, winner):
    config = tiny_ppo({**PLAIN, "selfplay.games": 1, "ppo.pool_share": 0.0})
    algorithm, experience = _one_game(config, winner)
    before = _mean_log_chances(algorithm.learner, experience)
    learn_unit(algorithm.learner, experience, 0.0, 1)
    after = _mean_log_chances(algorithm.learner, experience)
    assert after[0] > before[0] + 0.01 and after[1] < before[1] - 0.01


@pytest.mark.parametrize("seat", [AS_SOUTH, AS_NORTH])
def test_games_against_a_past_self_pull_towards_what_won_them(tiny_ppo, monkeypatch, seat):
    """The same with the learner in one seat only: won games get likelier, lost ones less."""
    monkeypatch.setattr(
        train.ppo, "learner_seats", lambda config: np.full(config.selfplay.games, seat, np.int8)
    )
    config = tiny_ppo({**PLAIN, "selfplay.games": 6})
    algorithm = PPO(config)
    experience = play_unit(SelfPlayUnit(algorithm.unit_weights(0), config, 0)).experience
    before = _mean_log_chances(algorithm.learner, experience)
    learn_unit(algorithm.learner, experience, 0.0, 1)
    after = _mean_log_chances(algorithm.learner, experience)
    assert after[0] > before[0] + 0.01 and after[1] < before[1] - 0.01


def test_an_epoch_that_went_too_far_is_the_last(tiny_ppo, played):
    settings = {"ppo.epochs": 4, "learning.batch": 512, "learning.warmup_steps": 0}
    counts = {}
    for name, target in (("near", 1e-9), ("far", 1e9)):
        algorithm = PPO(tiny_ppo({**settings, "ppo.target_kl": target}))
        counts[name] = learn_unit(algorithm.learner, played.experience, 0.0, 10**6)["epochs"]
    assert counts == {"near": 1.0, "far": 4.0}


def test_no_more_steps_are_taken_than_are_left_of_the_budget(tiny_ppo, played):
    algorithm = PPO(tiny_ppo({"learning.batch": 512}))
    learn_unit(algorithm.learner, played.experience, 0.0, 3)
    assert algorithm.learner.steps == 3


def test_learning_again_and_again_foresees_the_results(tiny_ppo, played):
    config = tiny_ppo({"learning.batch": 256, "ppo.epochs": 20, "ppo.target_kl": 1e9})
    algorithm = PPO(config)
    few = Experience(*(array[:256] for array in played.experience))
    first = learn_unit(algorithm.learner, few, 0.0, 1)
    for _ in range(10):
        last = learn_unit(algorithm.learner, few, 0.0, 20)
    assert last["result"] < 0.5 * first["result"]


def test_past_selves_do_not_change_while_the_learner_goes_on(tiny_ppo):
    config = tiny_ppo({"ppo.pool_size": 10})
    algorithm = PPO(config)
    kept = []
    for number in range(3):
        unit = SelfPlayUnit(algorithm.unit_weights(number), config, number)
        algorithm.learn(play_unit(unit), 0.0, 10**6)
        kept.append({n: t.clone() for n, t in algorithm.pool.copies[number + 1].items()})
    assert list(algorithm.pool.copies) == [0, 1, 2, 3]
    for number, then in enumerate(kept, start=1):
        now = algorithm.pool.copies[number]
        assert all(torch.equal(now[name], tensor) for name, tensor in then.items())
    assert not all(torch.equal(kept[0][name], kept[2][name]) for name in kept[0])
