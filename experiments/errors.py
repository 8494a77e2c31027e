"""What can go wrong in an experiment, in the family of `mate.errors`."""

from __future__ import annotations

from mate.errors import MateError


class ExperimentError(MateError):
    """An experiment that cannot be run as asked: an unknown name, a corpus that does not fit."""


class RecordError(MateError):
    """Results that are missing or cannot be read."""


class DisagreementError(MateError):
    """Two exact systems gave a query different answers."""
