"""Areas that lie within one another, such as municipalities in regions; its settings follow below.
Example: `geography = { column = "municipality", levels = ["region"] }`."""
