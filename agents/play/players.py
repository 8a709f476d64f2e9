"""Who sits at the board: agents and people on two seats, and how the end is told to them."""

from typing import NamedTuple

from agents.base import Agent
from oware_env.errors import OwareError, shown
from oware_env.files import printable
from oware_env.state import State

SEATS = {True: "South", False: "North"}


class Players(NamedTuple):
    """Who plays: an agent, or None for a person; and the agent who is asked for hints."""

    south: Agent | None
    north: Agent | None
    adviser: Agent
    seed: int  # of all agents
    pause: float = 0.0  # seconds between the moves of two agents, on a screen

    @property
    def agents(self) -> dict[bool, Agent | None]:
        """The agent of each seat, by whether it is South's; None for a person."""
        return {True: self.south, False: self.north}

    @property
    def people(self) -> dict[bool, bool]:
        """Whether a person sits on a seat, by whether it is South's."""
        return {south: agent is None for south, agent in self.agents.items()}

    @property
    def names(self) -> dict[bool, str]:
        """What each seat is called; two people at one board go by their seats."""
        both = all(self.people.values())
        return {
            south: printable(agent.name) if agent else SEATS[south] if both else "You"
            for south, agent in self.agents.items()
        }

    @property
    def tags(self) -> dict[str, str]:
        """The names as the tags of a saved game."""
        return {
            SEATS[south]: printable(agent.name) if agent else "human"
            for south, agent in self.agents.items()
        }

    def with_next_seed(self) -> "Players":
        """The same players for another game."""
        return self._replace(seed=(self.seed + 1) % 2**64)

    def to_move(self, state: State) -> Agent | None:
        """The agent whose turn it is; None at a person's turn and when the game is over."""
        return None if state.is_over else self.agents[state.south_to_move]


def seat_players(agent: Agent, seat: str, seed: int) -> Players:
    """A person on ``seat`` against an agent; "both" leaves the agent as adviser only.

    Raises OwareError for another seat.
    """
    if seat not in ("south", "north", "both"):
        raise OwareError(f"a seat is 'south', 'north' or 'both', not {shown(seat)}")
    south = agent if seat == "north" else None
    return Players(south, agent if seat == "south" else None, agent, seed)


def ending_text(state: State, names: dict[bool, str]) -> str:
    """Who won a finished game and why, in a sentence."""
    outcome = state.outcome
    assert outcome is not None
    winner = names[outcome.winner == "south"]
    won = "You win" if winner == "You" else f"{winner} wins"
    result = won if outcome.winner else "A draw"
    south, north = outcome.scores
    why = {
        "majority": "25 seeds or more win at once",
        "no_feeding_move": f"{SEATS[state.south_to_move]} cannot feed the empty side and gets "
        "every seed left",
        "move_limit": f"the limit of {state.rules.max_plies} plies is reached, "
        "each side gets the seeds of its own houses",
    }[outcome.reason]
    return f"{result}, South {south} - North {north}: {why}."
