"""Your policy in our matches and tournaments: any function is an agent, in three lines.

    python docs/how_to/their_policy.py --games 400

The function gets what the environments show: observations float32[B, 15] of the side to move
(171 with `observation="onehot"`) and masks int8[B, 6]; it answers with B actions. A match plays all
its games side by side, so B is large and a network runs in batches; `batched=False` is for a
function of a single observation. Every opening is played from both seats, and an illegal action
stops the match and names your function, the position and the action.
`maskable_ppo.py` and `torchrl_masked.py` hand in a trained network the same way.
"""

import numpy as np
import tyro

from agents.arena import TournamentSettings, play_match, run_tournament
from agents.function import FunctionAgent
from agents.roster import ROSTER, Entry


def fullest_house(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Sow the fullest house that may be sown: entries 0-5 are the mover's houses."""
    return np.where(masks == 1, observations[:, :6], -1.0).argmax(axis=1)


def last_house(observation: np.ndarray, mask: np.ndarray) -> int:
    """Sow the legal house nearest to the opponent, for one position."""
    return int(mask.nonzero()[0][-1])


def main(games: int = 400, seed: int = 0) -> None:
    """Two functions in matches of ``games``, then with a name of their own in a tournament."""
    agent = FunctionAgent(fullest_house, "fullest-house")
    print(play_match(agent, "greedy", games=games, seed=seed))
    single = FunctionAgent(last_house, "last-house", batched=False)
    print(play_match(single, agent, games=games, seed=seed))

    # A name in the roster lets it play wherever a spec is asked for, in this process (workers=0).
    idea = "sows the fullest house"
    ROSTER["fullest-house"] = Entry(
        lambda build: FunctionAgent(fullest_house, build.name, build.rules), idea, {}
    )
    settings = TournamentSettings(
        agents=("fullest-house", "random", "greedy", "careful"), games=games, seed=seed, workers=0
    )
    print(run_tournament(settings))


if __name__ == "__main__":
    tyro.cli(main)
