"""What the private file is a simple random sample of; its settings follow below. Example:
`population = { size = 2000000, sample = "simple random, without replacement", source = "Population register" }`."""
