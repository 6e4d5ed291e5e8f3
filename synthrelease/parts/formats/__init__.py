"""for statistical packages: "stata" (data.dta, and read.do, which adds numbers and figures), "spss" (data.sav, which SAS reads,
too), "r" (read.R, which needs nothing but R). "stata" and "spss" need the extra `formats`.
Example: `formats = ["stata", "spss", "r"]`."""

CHOICES = ("stata", "spss", "r")
