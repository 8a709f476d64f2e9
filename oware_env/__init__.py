"""Oware (Abapa) as a reinforcement-learning environment: rules, states, batches, envs.

Importing it registers ``Oware-v0`` with Gymnasium and ``oware/oware-v0`` with PettingZoo.
"""

import gymnasium
import pettingzoo

from oware_env import oware_v0
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
    "oware_v0",
]

gymnasium.register(
    "Oware-v0",
    "oware_env.single_agent:OwareSingleAgentEnv",
    vector_entry_point="oware_env.vector:OwareVectorEnv",
)
pettingzoo.register("aec", "oware/oware-v0", "oware_env.oware_v0:env")
