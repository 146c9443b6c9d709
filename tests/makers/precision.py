"""Tests that need a processor which multiplies in bfloat16."""

import pytest

from heed.training.machine import bfloat16_instructions

has_bfloat16 = pytest.mark.skipif(
    not bfloat16_instructions(), reason="this processor does not multiply in bfloat16"
)
