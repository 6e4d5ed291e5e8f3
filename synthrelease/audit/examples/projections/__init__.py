"""Examples of every kind of projection."""
