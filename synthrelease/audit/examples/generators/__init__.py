"""Examples of every kind of generator."""
