"""``State.play`` and ``legal_moves`` from Python, beside OpenSpiel's oware (C++ behind pybind)."""

import random

from benchmarks.figure import Figure, Mark, clock, interleave
from oware_env.state import State

MOVES = 80_000


def state_moves_per_second(seed: int, moves: int = MOVES) -> float:
    """Random whole games through :class:`State` until ``moves`` are made."""
    choice = random.Random(seed).choice
    played = 0
    started = clock()
    while played < moves:
        state = State.initial()
        while not state.is_over:
            state = state.play(choice(state.legal_moves))
            played += 1
    return played / (clock() - started)


def openspiel_moves_per_second(seed: int, moves: int = MOVES) -> float:
    """The same loop through OpenSpiel's state, which it changes in place."""
    import pyspiel

    game = pyspiel.load_game("oware")
    choice = random.Random(seed).choice
    played = 0
    started = clock()
    while played < moves:
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(choice(state.legal_actions()))
            played += 1
    return played / (clock() - started)


def state_play() -> Figure:
    """Measure row 4."""
    ours, theirs, ratio = interleave(state_moves_per_second, openspiel_moves_per_second)
    return Figure(
        "State.play and legal_moves",
        ours,
        "moves/s",
        Mark(0.6, "x"),
        "OpenSpiel oware, from Python",
        theirs,
        ratio,
    )
