"""Exact endgames: every board with few seeds, solved under the real rules, move limit and all."""
