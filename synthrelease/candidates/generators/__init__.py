"""Generator families by the name used in the configuration file. To add one: one file, one line here."""

from synthrelease.candidates.generators.adaptive import Adaptive, AdaptivePure
from synthrelease.candidates.generators.aim import AIM
from synthrelease.candidates.generators.base import Background, Generator, MeasuringGenerator, Model
from synthrelease.candidates.generators.dpctgan import DPCTGAN
from synthrelease.candidates.generators.dpgan import DPGAN
from synthrelease.candidates.generators.marginals import Marginals
from synthrelease.candidates.generators.measurements import NoisyMarginals
from synthrelease.candidates.generators.mst import MST
from synthrelease.candidates.generators.mwem import MWEM
from synthrelease.candidates.generators.patectgan import PATECTGAN
from synthrelease.candidates.generators.pep import PEP
from synthrelease.candidates.generators.privbayes import PrivBayes
from synthrelease.candidates.generators.smartnoise import LibraryGenerator

GENERATORS: dict[str, type[Generator]] = {
    "privbayes": PrivBayes,
    "marginals": Marginals,
    "adaptive": Adaptive,
    "adaptive_pure": AdaptivePure,
    "mwem": MWEM,
    "pep": PEP,
    "mst": MST,
    "aim": AIM,
    "dpgan": DPGAN,
    "dpctgan": DPCTGAN,
    "patectgan": PATECTGAN,
}

LIBRARIES = tuple(name for name, family in GENERATORS.items() if issubclass(family, LibraryGenerator))
"""Families that run a library which counts in adding or removing a record."""

__all__ = ["LIBRARIES", "GENERATORS", "Background", "Generator", "MeasuringGenerator", "Model", "NoisyMarginals"]
