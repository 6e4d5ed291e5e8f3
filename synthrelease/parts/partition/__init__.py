"""Random pieces of the rows, one for the generator and one for the criteria; its settings follow below. Left out, both work
with all rows. Example: `partition = { fit = 0.5, score = 0.5 }`."""
