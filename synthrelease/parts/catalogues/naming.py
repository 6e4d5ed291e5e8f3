"""The descriptions for catalogues of data by their names, and what writes them."""

from __future__ import annotations

from synthrelease.published.naming import FurtherNames

NAMING = FurtherNames(
    words={
        "dcat.jsonld": "an entry for catalogues of data: DCAT-AP 3 with the fields of HealthDCAT-AP, as JSON-LD",
        "dcat.ttl": "the same entry as Turtle",
        "croissant.json": "the same schema for tools of machine learning: Croissant 1.0",
        "ddi.xml": "a codebook for archives: DDI-Codebook 2.5, with the frequencies of all categories",
    },
    documents={"dcat": ("dcat.jsonld", "dcat.ttl"), "croissant": ("croissant.json",), "ddi": ("ddi.xml",)},
    packages={"dcat": "rdflib"},
    extra="catalogue",
)
