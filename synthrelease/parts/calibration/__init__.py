"""Published totals that the released rows are weighted to, after acceptance and at no cost; its settings follow below. Example:
`calibration.source = "Population register, 1 January 2024, table 3"`,
`calibration.margins = [{ columns = ["sex"], totals = { F = 5100, M = 4900 } }]`."""
