"""Weighted tables, and small cliques."""

EXAMPLES = ({"tables": "0.5 all 1-way + all 2-way"}, {"clique_cells": 4})

ENUMERATED = ("adaptive",)
