"""The released table for Stata, SPSS, SAS and R: files with labels, and scripts that read them."""

from synthrelease.bundle.statistical.files import statistical_files
from synthrelease.bundle.statistical.names import renamed
from synthrelease.bundle.statistical.scripts import scripts

__all__ = ["renamed", "scripts", "statistical_files"]
