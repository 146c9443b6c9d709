"""A verdict for anyone's scores, over published studies, and on a change: without torch."""
