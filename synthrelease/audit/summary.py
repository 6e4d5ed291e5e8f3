"""What an audit found, as one document that programs can read."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version

from synthrelease.audit.loss_findings import LossFinding
from synthrelease.audit.power import Power
from synthrelease.audit.running import CONFIDENCE, Direction, Finding
from synthrelease.audit.selection_law import LawCheck
from synthrelease.audit.sensitivity import Enumeration


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """Everything that was enumerated, compared and counted. Parts that were not asked for are empty."""

    sensitivities: tuple[Enumeration, ...] = ()
    laws: tuple[LawCheck, ...] = ()
    losses: tuple[LossFinding, ...] = ()
    findings: tuple[Finding, ...] = ()
    power: tuple[Power, ...] = ()

    @property
    def violations(self) -> list[str]:
        """What contradicts a claim, in words."""
        found = [f"sensitivity: {part.name}" for part in self.sensitivities if not part.sound]
        found += [f"selection: {law.claim}, {_repeated(law)}" for law in self.laws if law.exceeded]
        losses = [loss for loss in self.losses if loss.exceeded and not loss.case.faulty]
        found += [f"{loss.case}: {loss.leak}" if loss.leak else str(loss.case) for loss in losses]
        found += [finding.case.name for finding in self.findings if finding.exceeded and not finding.case.faulty]
        return found

    @property
    def missed(self) -> list[str]:
        """Known faults that were not found: the audit could not have found such a fault in the real mechanism either."""
        found = [str(loss.case) for loss in self.losses if loss.case.faulty and not loss.exceeded]
        return found + [finding.case.name for finding in self.findings if finding.case.faulty and not finding.exceeded]

    @property
    def passed(self) -> bool:
        return not self.violations and not self.missed

    def document(self) -> dict[str, object]:
        """Plain values for a JSON file."""
        return {
            "program": f"synthrelease {version('synthrelease')}",
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": f"{platform.system()} {platform.machine()}, Python {'.'.join(map(str, sys.version_info[:3]))}",
            "passed": self.passed,
            "violations": self.violations,
            "missed_faults": self.missed,
            "confidence_of_all_cases": CONFIDENCE,
            "sensitivities": [_sensitivity(part) for part in self.sensitivities],
            "selection_laws": [_law(law) for law in self.laws],
            "losses": [_loss(loss) for loss in self.losses],
            "cases": [_finding(finding) for finding in self.findings],
            "power": [
                {
                    "fault": part.name,
                    "draws": part.draws,
                    "audits": part.repeats,
                    "found": part.found,
                    "at_least": part.at_least,
                }
                for part in self.power
            ],
        }


def _sensitivity(part: Enumeration) -> dict[str, object]:
    return {
        "what": part.name,
        "kind": part.kind,
        "most_records": part.most_records,
        "cells": part.cells,
        "figures": part.figures,
        "triples": part.triples,
        "triples_of_files": part.files,
        "coupled_tables": part.coupled,
        "violations": part.violations,
        "disagreements": part.disagreements,
        "largest_share_of_bound": str(part.largest),
        "claimed_tight": part.tight,
    }


def _repeated(law: LawCheck) -> str:
    return f"stop probability {law.stop_probability}" if law.rounds is None else law.rounds.words


def _law(law: LawCheck) -> dict[str, object]:
    return {
        "exp_epsilon_of_a_round": str(law.ratio),
        "rounds": _repeated(law),
        "cap": law.cap,
        "claim": law.claim,
        "pairs": law.pairs,
        "exceeded": law.exceeded,
        "largest_share_of_claim": law.share,
    }


def _loss(loss: LossFinding) -> dict[str, object]:
    return {
        "generator": loss.case.generator,
        "case": loss.case.name,
        "unit": loss.unit,
        "claimed": loss.claimed,
        "shown": loss.shown,
        "share": loss.share,
        "known_fault": loss.case.faulty,
        "exceeded": loss.exceeded,
        "noise": loss.noise,
        "choices": loss.choices,
        "standard_error": loss.error,
        "beside_the_answers": loss.leak,
        "because": loss.case.because,
        "seconds": round(loss.seconds, 2),
    }


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "family": finding.case.family,
        "name": finding.case.name,
        "claim": finding.case.claim,
        "unit": "mu" if finding.case.gaussian else "epsilon",
        "known_fault": finding.case.faulty,
        "proven": finding.epsilon if finding.epsilon > float("-inf") else None,
        "exceeded": finding.exceeded,
        "held_out_draws": finding.held_out,
        "events": [_direction(direction) for direction in finding.directions],
        "seconds": round(finding.seconds, 2),
    }


def _direction(direction: Direction) -> dict[str, object]:
    return {
        "event": direction.event,
        "hits": [direction.more.hits, direction.less.hits],
        "draws": [direction.more.draws, direction.less.draws],
        "proven": direction.epsilon if direction.epsilon > float("-inf") else None,
    }
