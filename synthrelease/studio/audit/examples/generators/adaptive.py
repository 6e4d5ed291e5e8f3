"""As it stands, and with tables and cliques of its own."""

EXAMPLES: tuple[dict[str, object], ...] = ({}, {"tables": "all 2-way + 2 all 3-way", "clique_cells": 8})

ENUMERATED = ("adaptive",)
