"""Generator families by the name used in the configuration file. To add one: one file, one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from synthrelease.loading import Kinds, at_first_use

if TYPE_CHECKING:
    from synthrelease.candidates.generators.base import Background, Generator, MeasuringGenerator, Model
else:
    __getattr__ = at_first_use(__name__, {"base": ("Background", "Generator", "MeasuringGenerator", "Model")})

GENERATORS: Mapping[str, type[Generator]] = Kinds(
    __name__,
    {
        "privbayes": "privbayes:PrivBayes",
        "marginals": "marginals:Marginals",
        "gaussian_marginals": "marginals:GaussianMarginals",
        "nested": "nested:Nested",
        "nested_pure": "nested:NestedPure",
        "adaptive": "adaptive:Adaptive",
        "adaptive_pure": "adaptive:AdaptivePure",
        "mwem": "mwem:MWEM",
        "pep": "pep:PEP",
        "mst": "mst:MST",
        "aim": "aim:AIM",
        "dpgan": "dpgan:DPGAN",
        "dpctgan": "dpctgan:DPCTGAN",
        "patectgan": "patectgan:PATECTGAN",
    },
)

__all__ = ["GENERATORS", "Background", "Generator", "MeasuringGenerator", "Model"]
