"""The one exception for mistakes of a user: its text is the whole message.

Bottom layer, used by all packages. Commands print the text and exit with code 2; nothing else
is caught, so a fault of the program still shows its traceback.
"""


class OwareError(ValueError):
    """A mistake in what the user gave: names the value, the place and what would be right."""
