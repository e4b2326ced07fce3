"""Exercises over two ranks."""

from simulated.exercises import RANKS as EXERCISES

__all__ = ["EXERCISES"]
