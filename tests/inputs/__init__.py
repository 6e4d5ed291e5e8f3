"""Good private files of a tiny public world."""
