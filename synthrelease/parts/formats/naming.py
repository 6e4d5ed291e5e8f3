"""The files for statistical packages by their names, and what writes them."""

from __future__ import annotations

from synthrelease.published.naming import FileKind, FurtherNames

NAMING = FurtherNames(
    words={
        "members.dta": "the same members for Stata 14 and later, with the key of their root",
        "members.sav": "the same members for SPSS and SAS, with the key of their root",
        "data.dta": "the same rows for Stata 14 and later: numbers of bins with value labels, .a where a value is missing",
        "data.sav": "the same rows for SPSS and SAS: numbers of bins with value labels, -1 where a value is missing",
        "read.R": "a script for R: the rows as factors with their labels, the numbers of bins, and the released figures",
        "read.do": "a script for Stata: adds the numbers of bins to the file for Stata, and the released figures",
        "estimates.dta": "the same estimates for Stata 14 and later",
        "estimates.sav": "the same estimates for SPSS and SAS",
    },
    with_rows={
        "stata": FileKind(ending="dta", media_type="application/x-stata-dta", format="stata"),
        # of a format called "sav" frictionless wants to read the rows itself, with a library of its own
        "spss": FileKind(ending="sav", media_type="application/x-spss-sav", format="spss"),
    },
    documents={"r": ("read.R",), "stata": ("read.do",)},
    packages={"stata": "pyreadstat", "spss": "pyreadstat"},
    extra="formats",
)
