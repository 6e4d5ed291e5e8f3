"""Laws of the noise of measured tables and sums, and how far their sums are off at most. All of it is public."""
