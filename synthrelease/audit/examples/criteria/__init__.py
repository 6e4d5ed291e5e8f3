"""Examples of every kind of criterion."""
