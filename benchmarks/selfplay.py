"""Self-play with half of the champion in two processes: simulations, and those that are judged.

The mark is one for networks of 128x4, and the champion has eight blocks: its first four play here.
The network has to be a trained one: how often a position comes back, and is not judged again,
depends on how well the games are played.
"""

import time
from typing import Final

from torch import Tensor

from agents.neural.checkpoint import read_tensors
from agents.neural.network import build_network
from agents.roster import CHAMPION
from agents.workers import open_executor
from benchmarks.figure import Figure, Mark
from train.config import Config, SelfPlay
from train.selfplay import SelfPlayUnit, play_unit

WORKERS = 2
UNITS = 16  # a multiple of the workers, so that they end at about the same time
GAMES, SIMULATIONS = 256, 48  # of a unit, a move
NETWORK: Final = "medium"


def first_blocks() -> dict[str, Tensor]:
    """The champion's weights, as far as a network of the size NETWORK has them."""
    weights = read_tensors(CHAMPION, "ema")
    return {name: weights[name] for name in build_network(NETWORK).state_dict()}


def selfplay_speeds(units: int = UNITS) -> tuple[float, float]:
    """Simulations a second of all workers together, and those of them that the network judged.

    Wall-clock time, since several processes share it; a first unit of each warms up.
    """
    from safetensors.torch import save

    config = Config(
        network=NETWORK,
        selfplay=SelfPlay(games=GAMES, simulations=SIMULATIONS),
    )
    weights = save(first_blocks())
    work = [SelfPlayUnit(weights, config, number) for number in range(WORKERS + units)]
    with open_executor(WORKERS) as executor:
        list(executor.run(play_unit, work[:WORKERS]))
        started = time.perf_counter()
        played = [result.figures for _, result in executor.run(play_unit, work[WORKERS:])]
        seconds = time.perf_counter() - started
    simulations, judged = (
        sum(figures[name] for figures in played) / seconds
        for name in ("simulations", "evaluations")
    )
    return simulations, judged


def selfplay() -> list[Figure]:
    """Measure both rows."""
    simulations, judged = selfplay_speeds()
    what = f"self-play, 128x4 (half of the champion), {WORKERS} processes"
    return [
        Figure(what, simulations, "sims/s", Mark(700e3, "sims/s")),
        Figure(f"{what}: judged", judged, "sims/s", Mark(350e3, "sims/s")),
    ]
