"""Generator families by the name used in the configuration file. To add one: one file, one line here."""

from synthrelease.generators.base import Generator, Model
from synthrelease.generators.privbayes import PrivBayes

GENERATORS: dict[str, type[Generator]] = {
    "privbayes": PrivBayes,
}

__all__ = ["GENERATORS", "Generator", "Model"]
