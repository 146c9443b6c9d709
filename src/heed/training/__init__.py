"""Training: the loop, determinism, devices, and the runs it leaves."""
