"""Values in messages, and the numbers that arguments may be."""

import fractions

import numpy as np
import pytest

from oware_env.errors import OwareError, as_integer, seed_number, shown, whole_number


class Loud:
    """Shows itself as a terminal would obey it."""

    def __repr__(self):
        return "Loud\n  \x1b[31mred"


class Mute:
    """Cannot show itself."""

    def __repr__(self):
        raise RuntimeError("inside")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\nb", r"'a\nb'"),
        (2**64, "18446744073709551616"),
        (10**5000, "int of very many digits"),
        (-(10**5000), "int of very many digits"),
        ([10**5000], "a value of type list"),
        (Loud(), r"Loud \x1b[31mred"),
        (Mute(), "a value of type Mute"),
        (np.eye(2), "array([[1., 0.], [0., 1.]])"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_is_shown_on_one_line(value, text):
    assert shown(value) == text


def test_a_long_value_is_cut():
    assert len(shown("x" * 10_000)) == 80 and shown("x" * 10_000).endswith("x ...")


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3), -(2**70)])
def test_integers_of_python_and_numpy_are_whole_numbers(value):
    assert as_integer(value) == value and type(as_integer(value)) is int


@pytest.mark.parametrize(
    "value",
    [
        np.timedelta64(3),
        [3],
        float("nan"),
        3j,
        True,
        np.bool_(True),
        3.0,
        np.float32(3),
        "3",
        None,
        fractions.Fraction(3),
        np.array(3),
    ],
    ids=lambda value: type(value).__name__,
)
def test_nothing_else_is_a_whole_number(value):
    assert as_integer(value) is None
    with pytest.raises(OwareError, match="games must be a whole number of at least 2, not "):
        whole_number("games", value, 2)


def test_a_number_outside_its_limits_is_named():
    assert whole_number("games", 2, 2, 9) == 2 and whole_number("games", 9, 2, 9) == 9
    with pytest.raises(OwareError, match=r"^games must be a whole number of at least 2, not 1$"):
        whole_number("games", 1, 2, 9)
    with pytest.raises(OwareError, match=r"^games must be at most 9, not 10$"):
        whole_number("games", 10, 2, 9)
    assert seed_number("seed", 2**64 - 1) == 2**64 - 1
    with pytest.raises(OwareError, match=r"^seed must be at most 18446744073709551615, not"):
        seed_number("seed", 2**64)
