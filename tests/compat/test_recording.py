"""RecordVideo, Gymnasium's and PettingZoo's: a game becomes a video file."""

import gymnasium
import pytest
from pettingzoo.utils.wrappers import RecordVideo

from oware_env import oware_v0

moviepy = pytest.importorskip("moviepy", reason="needs the extra compat")

LATE = {"ply": 394}  # the move limit of 400 ends the game six plies on


def frames_of(folder):
    """How many frames the only video of a folder holds, and their size."""
    [path] = folder.glob("*.mp4")
    assert path.stat().st_size > 1000
    with moviepy.VideoFileClip(str(path)) as clip:
        return round(clip.duration * clip.fps), (clip.h, clip.w)


def close_to(picture, size):
    """Whether a video shows a picture: its sides are cut to multiples of two."""
    return all(0 <= side - found < 2 for side, found in zip(picture.shape, size, strict=False))


def test_gymnasiums_wrapper_films_an_episode(tmp_path):
    env = gymnasium.make("Oware-v0", render_mode="rgb_array")
    env = gymnasium.wrappers.RecordVideo(env, str(tmp_path / "video"), lambda episode: True)
    env.reset(seed=0, options=LATE)
    steps, terminated = 0, False
    while not terminated:
        action = int(env.get_wrapper_attr("action_masks")().argmax())
        _, _, terminated, _, _ = env.step(action)
        steps += 1
    picture = env.unwrapped.render()
    env.close()
    frames, size = frames_of(tmp_path / "video")
    assert (steps, frames) == (3, 4)  # the learner's moves, and the start
    assert close_to(picture, size)


@pytest.mark.parametrize("make", [oware_v0.env, oware_v0.raw_env])
def test_pettingzoos_wrapper_films_a_game(make, tmp_path):
    env = RecordVideo(make(render_mode="rgb_array"), str(tmp_path / "video"), lambda episode: True)
    env.reset(seed=0, options=LATE)
    plies = 0
    while not any(env.terminations.values()):
        env.step(env.unwrapped.game_state.legal_moves[0])
        plies += 1
    picture = env.unwrapped.render()
    env.close()
    frames, size = frames_of(tmp_path / "video")
    assert (plies, frames) == (6, 7)
    assert close_to(picture, size)
