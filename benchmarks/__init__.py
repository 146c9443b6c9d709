"""What makes the figures of docs/performance.md: `make benchmark`, or `python -m benchmarks.NAME`
for one of them.
"""
