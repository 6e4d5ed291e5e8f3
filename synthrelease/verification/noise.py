"""Which program drew the noise of a bundle, and whether it is known to be biased."""

from __future__ import annotations

from synthrelease.published.document import ReleaseDocument
from synthrelease.verification.checks import Check
from synthrelease.version import release_number

LIBRARY = "opendp"
"""Drew the noise of vectors of fewer than 200 numbers, as long as release.json names its version. Now no library does."""

BIASED = ((0, 14, 0), (0, 14, 1))
"""Release numbers of versions whose discrete Laplace noise is biased (opendp issue 2638): neighbouring outcomes lose more
than stated, 1.5 times at scale 3, 2.7 times at 10, 15 times at 100 (`audit.biased_sampler`)."""


def noise(document: ReleaseDocument) -> Check:
    """Name a bundle whose stated epsilon is not true, because a biased sampler drew its noise."""
    version = document.versions.get(LIBRARY)
    number = None if version is None else release_number(version)
    if number in BIASED:
        problem = (
            f"versions: OpenDP {version} drew the noise of single figures and short tables, and its sampler is biased (opendp "
            "issue 2638). The release tells more than its stated epsilon: neighbouring outcomes lose 1.5 times the claim at "
            "scale 3, 2.7 times at 10. Take the epsilon of such figures for unproved, and ask the publisher for a release by a "
            "later version."
        )
        return Check(name="noise", problems=(problem,))
    if (document.first_run and version is None) or (version is not None and number is None):
        found = "unknown which program drew that of short tables: release.json names no version of OpenDP, which drew it then"
        limit = "Which program drew the noise of short tables is unknown, and so whether it is biased."
        return Check(name="noise", found=found, limits=(limit,))
    drew = "synthrelease drew all of it" if version is None else f"OpenDP {version} drew that of short tables"
    return Check(name="noise", found=f"{drew}; no known bias")
