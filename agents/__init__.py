"""Players of Oware: scripted baselines, search, networks; and tournaments between them."""

from agents.base import Agent, Evaluator, as_opponent, choose
from agents.function import FunctionAgent
from agents.roster import make

__all__ = ["Agent", "Evaluator", "FunctionAgent", "as_opponent", "choose", "make"]
