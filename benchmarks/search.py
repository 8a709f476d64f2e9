"""Lock-step search with a 128x4 network on one core, beside OpenSpiel's C++ MCTS with rollouts."""

import statistics
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.figure import ROUNDS, Figure, Mark, clock
from oware_env.batch import Batch
from oware_env.episode import random_opponent
from oware_env.positions import Positions

if TYPE_CHECKING:
    from agents.neural.evaluator import NetworkEvaluator

GAMES = 512
SIMULATIONS = 32
OPENING_PLIES = 20
PEER_SIMULATIONS = 10_000


class SearchSpeed(NamedTuple):
    """One search of all games."""

    simulations: float  # a second
    tree_seconds: float  # a simulation, all that is not the network
    network_share: float  # of the time


def openspiel_simulations_per_second(seed: int) -> float:
    """OpenSpiel's C++ search from the start position, one rollout a simulation."""
    import pyspiel

    game = pyspiel.load_game("oware")
    rollouts = pyspiel.RandomRolloutEvaluator(1, seed)
    bot = pyspiel.MCTSBot(game, rollouts, 1.25, PEER_SIMULATIONS, 100, False, seed, False)
    state = game.new_initial_state()
    started = clock()
    bot.step(state)
    return PEER_SIMULATIONS / (clock() - started)


def network_evaluator() -> "NetworkEvaluator":
    """A 128x4 network with weights that are not zero anywhere: speed does not depend on them."""
    import torch

    from agents.neural.evaluator import NetworkEvaluator
    from agents.neural.network import build_network

    torch.set_num_threads(1)
    network = build_network("medium")
    torch.manual_seed(0)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.05)
    return NetworkEvaluator(network)


def mid_game_positions(games: int = GAMES, plies: int = OPENING_PLIES) -> Positions:
    """Positions after some random plies."""
    batch = Batch(games, seed=1)
    for _ in range(plies):
        batch.step(random_opponent(batch.positions()))
    return batch.positions()


def search_speeds(rounds: int = ROUNDS) -> tuple[list[SearchSpeed], list[float]]:
    """Our speeds and the peer's simulations a second, in alternating rounds."""
    from agents.compiled import remembering
    from agents.search.mcts import Search

    judge = network_evaluator()
    evaluator = remembering(judge, slots=0)
    search = Search(evaluator, simulations=SIMULATIONS)
    positions = mid_game_positions()
    search.run(positions)  # compiles
    count = GAMES * SIMULATIONS
    ours, theirs = [], []
    for seed in range(rounds):
        for _ in range(2):
            calls, judged = evaluator.calls, evaluator.judged
            started = clock()
            search.run(positions)
            seconds = clock() - started
            calls, judged = evaluator.calls - calls, evaluator.judged - judged
            network = calls * judge.seconds_a_call(judged // calls)
            ours.append(
                SearchSpeed(count / seconds, (seconds - network) / count, network / seconds)
            )
        theirs.append(openspiel_simulations_per_second(seed))
    return ours, theirs


def lockstep_search() -> list[Figure]:
    """Measure row 5: three lines."""
    ours, theirs = search_speeds()
    speed, tree, share = (statistics.median(column) for column in zip(*ours, strict=True))
    peer = statistics.median(theirs)
    what = "search, 128x4 network"
    return [
        Figure(
            f"{what}, {GAMES} games",
            speed,
            "sims/s",
            Mark(200e3, "sims/s"),
            "OpenSpiel C++ MCTS, rollouts",
            peer,
            speed / peer,
        ),
        Figure(f"{what}: tree, a sim", tree * 1e9, "ns", Mark(300, "ns", at_most=True)),
        Figure(f"{what}: its share", share, "%", Mark(0.85, "%")),
    ]
