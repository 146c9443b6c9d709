"""Benchmarks of docs/internals/performance.md: `make benchmark` or `python -m benchmarks.NAME`."""
