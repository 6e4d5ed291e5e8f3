"""questions that the release is meant to answer; their settings follow below. The card says what is stated about each.
Example: `intended_queries = [{ query = "parity == 1", why = "Reported every year" }]`."""
