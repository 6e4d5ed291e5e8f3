"""Examples of every family of generators, as their tables stand in the TOML file, about the columns of `COLUMNS`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

EXAMPLES: Mapping[str, Sequence[dict[str, Any]]] = {
    # As it stands, and with tables and cliques of its own.
    "adaptive": ({}, {"tables": "all 2-way + 2 all 3-way", "clique_cells": 8}),
    # Weighted tables, and small cliques.
    "adaptive_pure": ({"tables": "0.5 all 1-way + all 2-way"}, {"clique_cells": 4}),
    # Few rounds of two columns, and of three.
    "aim": ({"rounds": 3}, {"rounds": 4, "degree": 3}),
    # Small networks, without and with measured columns.
    "dpctgan": (
        {"steps": 100, "batch": 100, "generator_width": 16, "latent": 4, "critic_width": 8},
        {"steps": 60, "batch": 50, "generator_width": 16, "critic_width": 4, "oversampling": 3, "clip": 3, "measured": "0.5"},
    ),
    # Small networks.
    "dpgan": ({"steps": 100, "batch": 100, "generator_width": 16, "latent": 4, "critic_width": 8, "generator_rate": 0.003},),
    # Tables of three columns, of two and one with a prior, and agreements of pairs, with Gaussian noise.
    "gaussian_marginals": (
        {"tables": "all 3-way"},
        {"tables": "all 2-way + 2 all 1-way", "prior_weight": 0.001},
        {"tables": "all 2-way", "pairs": "agreements"},
    ),
    # The same with Laplace noise.
    "marginals": (
        {"tables": "all 3-way"},
        {"tables": "all 2-way + 2 all 1-way", "prior_weight": 0.001},
        {"tables": "all 2-way", "pairs": "agreements"},
    ),
    # As the library has it.
    "mst": ({},),
    # Queries of tables, and of one column more.
    "mwem": (
        {"queries": 30, "iterations": 30, "inner_updates": 60},
        {"queries": 60, "iterations": 60, "inner_updates": 900, "marginal": 1},
    ),
    # One level of areas: with tables of two columns, and with a division by what is wanted.
    "nested": (
        {"areas": "a", "tables": "all 2-way"},
        {"areas": "a", "tables": "2 all 2-way + all 1-way", "wanted": "0.01 > 0.1"},
    ),
    # One level of areas: with tables of two columns, and with a division by what is wanted.
    "nested_pure": (
        {"areas": "a", "tables": "all 2-way"},
        {"areas": "a", "tables": "2 all 2-way + all 1-way", "wanted": "0.01 > 0.1"},
    ),
    # Many teachers, and two.
    "patectgan": (
        {"steps": 60, "batch": 50, "generator_width": 16, "latent": 4, "critic_width": 8, "teachers": 50, "labels": 40},
        {"steps": 20, "batch": 50, "generator_width": 16, "critic_width": 8, "teachers": 2, "labels": 1, "measured": "0.9"},
    ),
    # Fewer queries than there are, and queries of three columns.
    "pep": ({"queries": 30, "iterations": 20}, {"queries": 59, "iterations": 30, "marginal": 3}),
    # Both ways to choose a network.
    "privbayes": (
        {"flavour": "theta", "theta": 0.5, "epsilon_split": "0.3"},
        {"flavour": "degree", "degree": 2, "epsilon_split": "0.1", "selector": "exponential"},
    ),
}
