"""Benchmarks for docs/performance.md: `make benchmark`, or `python -m benchmarks.NAME` for one."""
