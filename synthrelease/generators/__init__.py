"""Look up the class of a generator by the name of its family in the configuration file. To add a family, write one file and
add one line to this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from synthrelease.resources import Kinds, at_first_use

__all__ = ["GENERATORS", "Background", "Generator", "MeasuringGenerator", "Model"]

if TYPE_CHECKING:
    from synthrelease.generators.base import Background, Generator, MeasuringGenerator, Model
else:
    __getattr__ = at_first_use(__name__, {"base": ("Background", "Generator", "MeasuringGenerator", "Model")})

GENERATORS: Kinds[Generator] = Kinds(
    __name__,
    {
        "privbayes": "privbayes:PrivBayes",
        "marginals": "marginals:Marginals",
        "gaussian_marginals": "marginals:GaussianMarginals",
        "nested": "nested:Nested",
        "nested_pure": "nested:NestedPure",
        "adaptive": "adaptive:Adaptive",
        "adaptive_pure": "adaptive:AdaptivePure",
        "mwem": "mwem_pep:MWEM",
        "pep": "mwem_pep:PEP",
        "mst": "smartnoise:MST",
        "aim": "smartnoise:AIM",
        "dpgan": "gans:DPGAN",
        "dpctgan": "gans:DPCTGAN",
        "patectgan": "gans:PATECTGAN",
    },
)
