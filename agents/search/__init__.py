"""Searches over the rules: alpha-beta with a hand-written evaluation, and Monte Carlo trees."""
