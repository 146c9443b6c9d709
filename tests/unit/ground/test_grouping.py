"""Tests that share a costly fixture run in one worker."""

import os

import pytest


@pytest.mark.xdist_group("grouping")
@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="one process runs all tests")
def test_a_group_of_tests_stays_together(request: pytest.FixtureRequest) -> None:
    """pytest 9.2.0 dropped the groups of pytest-xdist 3.8.0 without a word (pytest-xdist#1386)."""
    assert request.node.nodeid.endswith("@grouping")
