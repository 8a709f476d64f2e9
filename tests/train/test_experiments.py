"""What was written down about experiments comes back as numbers."""

import numpy as np
import pytest

from oware_env.errors import OwareError
from train.experiments import experiment_scores


def test_the_scores_of_an_experiment_are_read_from_its_page():
    scores = experiment_scores("0002")
    assert len(scores) == 11
    assert np.allclose(scores["64 simulations"], [0.335, 0.458, 0.58])
    assert np.allclose(scores["128x2 that grows to 128x4 at 30 %"], [0.339, 0.409, 0.479])  # bold
    assert all(low < score < high for low, score, high in scores.values())


def test_what_is_not_there_is_one_line(tmp_path):
    with pytest.raises(OwareError, match="there is no experiment '0009' in"):
        experiment_scores("0009", tmp_path)
    (tmp_path / "0009-nothing.md").write_text("| a | b |\n|---|---|\n| one | 3 % |\n")
    with pytest.raises(OwareError, match=r"0009-nothing\.md has no table of scores"):
        experiment_scores("0009", tmp_path)
