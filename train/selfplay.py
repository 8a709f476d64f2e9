"""Self-play: one work unit, a fixed group of games, as a pure function of what it is given."""

import time
from typing import NamedTuple

import numpy as np
import torch

from agents.compiled import remembering
from agents.neural.checkpoint import network_from
from agents.neural.evaluator import NetworkEvaluator
from agents.policy import draw_moves
from agents.search.cache import CachedEvaluator
from agents.search.mcts import Search, SearchResult
from agents.trained import PolicyAgent
from oware_env.encoding import network_input
from oware_env.lockstep import Lockstep, open_randomly
from oware_env.positions import Positions, game_keys
from oware_env.rules import MOVE_LIMIT, RUNNING, initial_board
from train.config import Config
from train.endgames import Endgames
from train.lessons import LEAST_CHANCE, Lessons
from train.memory import peak_memory
from train.samples import GameEnds, Noted, Samples, join, make_samples, rescore


class SelfPlayUnit(NamedTuple):
    """What decides a unit's games: all that varies over a run is given here, once and for all."""

    weights: bytes  # safetensors
    config: Config
    number: int


class Played(NamedTuple):
    """The games of one unit."""

    samples: Samples
    ends: GameEnds
    moves: tuple[np.ndarray, np.ndarray]  # Lockstep.moves, from the starts of start_games
    figures: dict[str, float]  # means for the log; times in seconds are not reproducible


class _Diary:
    """What is noted of every ply until the games are over."""

    def __init__(self) -> None:
        self.turns: list[Noted] = []
        self.entropy = self.surprise = 0.0  # summed over the positions with a policy target
        self.searched = self.simulations = 0

    def note(self, games: Lockstep, rows: np.ndarray, policies: np.ndarray) -> None:
        """Keep running positions, those in ``rows`` bool[running], and their policy targets.

        They have no value yet: what a search says of them comes by :meth:`note_search`.
        """
        boards, plies, _ = games.positions()
        turn = Noted(
            inputs=network_input(boards[rows], plies[rows], games.rules.max_plies),
            policies=policies.astype(np.float32),
            values=np.full(len(policies), np.nan, np.float32),
            plies=plies[rows],
            games=games.games[rows].astype(np.int32),
            south=games.south_to_move[rows],
        )
        self.turns.append(turn)

    def note_search(self, policies: np.ndarray, result: SearchResult, simulations: int) -> None:
        """Give the positions noted last the values of their search, and sum up what it found.

        That is the entropy of the policy targets and their distance from the prior, in nats, and
        the simulations that it took.
        """
        self.turns[-1] = self.turns[-1]._replace(values=result.values)
        logs = np.log(np.maximum(policies, 1e-12))
        prior_logs = np.log(np.maximum(result.priors, 1e-12))
        self.entropy -= float((policies * logs).sum())
        self.surprise += float((policies * (logs - prior_logs)).sum())
        self.searched += len(policies)
        self.simulations += simulations

    def samples(self, ends: GameEnds, endgames: Endgames, first_game: int) -> tuple[Samples, float]:
        """All positions with their targets, and the share whose result the table corrected."""
        noted = Noted(*(np.concatenate(arrays) for arrays in zip(*self.turns, strict=True)))
        played = make_samples(noted, ends, first_game)
        bounds = endgames.bounds(noted.inputs, noted.plies)
        if bounds is None:
            return played, 0.0
        corrected = rescore(played, noted, ends, bounds)
        return corrected, float((corrected.results != played.results).mean())


def play_unit(unit: SelfPlayUnit) -> Played:
    """Play the games of a unit; the same unit gives the same samples on the same machine type."""
    from safetensors.torch import load

    torch.set_num_threads(1)
    start = time.perf_counter()
    config = unit.config
    network = network_from(load(unit.weights), config.network, f"unit {unit.number}")
    judge = NetworkEvaluator(network, config.rules, config.device)
    evaluator = remembering(judge)
    games = start_games(config, unit.number)
    endgames = Endgames(config, games.positions().keys)
    search = Search(
        evaluator,
        config.rules,
        simulations=config.selfplay.simulations,
        exploration=config.selfplay.exploration,
        table=endgames.search_table,
    )
    diary = _Diary()
    times = config.selfplay.lessons
    lessons = Lessons(endgames, evaluator, config.rules, times) if times else None
    while _goes_on(games, endgames, diary, lessons):
        games.play(_decide(games, search, unit, diary, endgames))
    ends = GameEnds(games.scores, games.lengths, games.reasons)
    first_game = unit.number * config.selfplay.games
    samples, rescored = diary.samples(ends, endgames, first_game)
    learned = None if lessons is None else lessons.samples(first_game)
    figures = game_figures(ends) | {
        "games": float(len(ends.plies)),
        "adjudicated": float((ends.reasons == RUNNING).mean()),
        "rescored": rescored,
        "policy_entropy": diary.entropy / max(1, diary.searched),
        "search_surprise": diary.surprise / max(1, diary.searched),
        "positions": float(len(samples)),
        "lessons": float(0 if learned is None else len(learned)),
        "simulations": float(diary.simulations),
        "evaluations": float(evaluator.judged),
        "cache_hits": 1.0 - evaluator.judged / max(1, evaluator.asked),
        "seconds": time.perf_counter() - start,
        "network_seconds": network_seconds(judge, evaluator),
        "memory": peak_memory(),
    }
    whole = samples if learned is None else join([samples, learned])
    return Played(whole, ends, games.moves(), figures)


def network_seconds(network: NetworkEvaluator, memory: CachedEvaluator) -> float:
    """What a unit spent in the network, from its calls: inside compiled loops there is no clock."""
    mean = max(1, round(memory.judged / max(1, memory.calls)))
    return memory.calls * network.seconds_a_call(mean)


def start_games(config: Config, number: int) -> Lockstep:
    """The games of unit ``number`` after their random opening plies."""
    count = config.selfplay.games
    keys = game_keys(np.uint64(config.seed), np.arange(count) + number * count)
    boards = np.tile(initial_board(), (count, 1))
    plies, south = np.zeros(count, np.int32), np.ones(count, np.bool_)
    open_randomly(boards, plies, south, keys, config.selfplay.opening_plies, config.max_plies)
    return Lockstep(Positions(boards, plies, keys), south, config.rules, keeps_moves=True)


def _goes_on(games: Lockstep, endgames: Endgames, diary: _Diary, lessons: Lessons | None) -> bool:
    """Whether a game still runs when those that are decided have been ended.

    The position in which a game ends so is noted, without a policy target: what it is worth is
    known for certain.
    """
    rows, scores = endgames.decided(games)
    if rows.any():
        diary.note(games, rows, np.zeros((len(scores), 6)))
        if lessons is not None:
            lessons.take(games, rows)
        games.stop(rows, scores)
    return games.running > 0


def _decide(
    games: Lockstep, search: Search, unit: SelfPlayUnit, diary: _Diary, endgames: Endgames
) -> np.ndarray:
    """The moves of all running games for one ply, noted in the diary.

    Late plies are played by the raw policy: few games last that long, but searching those to the
    move limit, in batches that hardly fill, would take as long as all the others.
    """
    settings = unit.config.selfplay
    positions, rows = games.positions(), np.ones(games.running, np.bool_)
    is_early = positions.plies < settings.temperature_plies
    exponents = np.where(is_early, 1.0, settings.late_exponent)
    if positions.plies.min() >= settings.search_plies:
        policies = PolicyAgent(search.evaluator, "raw policy").decide(positions).policy
        diary.note(games, rows, np.zeros_like(policies))
        return draw_moves(policies, positions.keys, positions.plies, np.ones(len(policies)))
    result = search.run(positions, settings.noise)
    proved = endgames.searched_moves(positions)
    weights = _move_weights(result.visits, positions, search, proved)
    policies = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    diary.note(games, rows, policies)
    searched = len(policies) - len(proved[0])  # the others are known without a search
    diary.note_search(policies, result, searched * search.simulations)
    return draw_moves(weights, positions.keys, positions.plies, exponents)


def _move_weights(
    visits: np.ndarray, positions: Positions, search: Search, proved: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """What moves are drawn by and the policy learns, float64[B, 6]: the visits of the search.

    In a position that the table decides a search stops at the first move that proves the result
    and gives it all visits. That would teach the order of the houses, and that all moves of a won
    or a lost position are as good as another. There the weights are the network's own policy,
    without noise, over the moves that keep the most seeds (``proved``: rows and their moves): it
    unlearns what gives seeds away, and stays as it is between equals. Equal shares instead made
    it shuffle in won positions.
    """
    weights = visits.astype(np.float64)
    rows, best = proved
    faced = Positions(*(array[rows] for array in positions))
    policies = PolicyAgent(search.evaluator, "raw policy").decide(faced).policy
    weights[rows] = best * (policies + LEAST_CHANCE)
    return weights


def game_figures(ends: GameEnds) -> dict[str, float]:
    """What the log says of games between equal sides: their length, how they end, who wins."""
    margin = ends.scores[:, 0].astype(np.int64) - ends.scores[:, 1]
    return {
        "game_length": float(ends.plies.mean()),
        "limit_share": float((ends.reasons == MOVE_LIMIT).mean()),
        "draw_rate": float((margin == 0).mean()),
        "first_player_score": float((np.sign(margin) + 1).mean() / 2),
    }
