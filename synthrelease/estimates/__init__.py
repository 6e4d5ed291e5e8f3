"""Estimates with confidence intervals, from the published noisy tables alone (docs/estimates.md)."""

from synthrelease.estimates.answer import estimate
from synthrelease.estimates.words import Estimate

__all__ = ["Estimate", "estimate"]
