"""Draws of queries: what a ratio is where there is nothing to divide by."""

from __future__ import annotations

import warnings

import numpy as np

from experiments.reporting.bootstrap import ratios


def test_a_ratio_of_nothing_to_nothing_is_one_and_none_is_undefined():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        level = ratios("a set", np.zeros(3), np.zeros(3))
        beyond = ratios("a set", np.array([2.0, 4.0]), np.zeros(2))
        half = ratios("a set", np.array([1.0, 1.0]), np.array([2.0, 2.0]))
    assert level is not None
    assert (level == 1).all()
    assert beyond is not None
    assert np.isposinf(beyond).all()
    assert half is not None
    assert (half == 0.5).all()
