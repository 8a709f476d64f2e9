"""Oware (Abapa) as a reinforcement-learning environment: rules, states, batches, envs."""

from oware_env.batch import Batch
from oware_env.errors import OwareError
from oware_env.rules import AWARI, Rules
from oware_env.state import IllegalMove, MoveReport, Outcome, State

__all__ = [
    "AWARI",
    "Batch",
    "IllegalMove",
    "MoveReport",
    "Outcome",
    "OwareError",
    "Rules",
    "State",
]
