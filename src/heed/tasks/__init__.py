"""The tasks: each package here is one, and offers the parts that heed/task/interface.py describes.

heed.task finds the packages in this folder; no list names them.
"""
