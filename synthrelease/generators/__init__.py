"""Generator families by the name used in the configuration file. To add one: one file, one line here."""

from synthrelease.generators.aim import AIM
from synthrelease.generators.base import Background, Generator, MeasuringGenerator, Model
from synthrelease.generators.marginals import Marginals
from synthrelease.generators.measurements import NoisyMarginals
from synthrelease.generators.mst import MST
from synthrelease.generators.mwem import MWEM
from synthrelease.generators.pep import PEP
from synthrelease.generators.privbayes import PrivBayes

GENERATORS: dict[str, type[Generator]] = {
    "privbayes": PrivBayes,
    "marginals": Marginals,
    "mwem": MWEM,
    "pep": PEP,
    "mst": MST,
    "aim": AIM,
}

__all__ = ["GENERATORS", "Background", "Generator", "MeasuringGenerator", "Model", "NoisyMarginals"]
