"""descriptions for catalogues of data: "dcat" (DCAT-AP 3 with the fields of HealthDCAT-AP, as dcat.jsonld and dcat.ttl; it
needs the extra `catalogue`), "croissant" (Croissant 1.0, for machine learning), "ddi" (DDI-Codebook 2.5).
Example: `catalogues = ["dcat", "croissant", "ddi"]`."""

CHOICES = ("dcat", "croissant", "ddi")
