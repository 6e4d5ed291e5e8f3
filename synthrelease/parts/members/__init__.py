"""A second table with the members of each row, such as the persons of a household; its settings follow below.
Example: `members = { key = "household", most = 6, columns = { age = { kind = "integer", bounds = [0, 99] } } }`."""
