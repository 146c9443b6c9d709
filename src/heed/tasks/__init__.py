"""The tasks: each package is one, and offers the parts that heed/task/interface.py describes."""
