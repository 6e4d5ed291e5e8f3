"""Tests mirror the paths of the package; helpers are small.py, rounds.py and labour_force.py."""
