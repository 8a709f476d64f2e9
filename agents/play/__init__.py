"""Playing against an agent: the command ``oware-play`` in the terminal."""
