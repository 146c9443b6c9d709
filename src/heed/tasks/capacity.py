"""The size at which a model has about as many parameters as another, for tasks that widen one."""

from collections.abc import Callable


def nearest_size(count: Callable[[int], int], parameters: int) -> int:
    """Return the size, at least 1, at which a growing count is nearest to `parameters`."""
    low, high = 1, 2
    while count(high) < parameters:
        low, high = high, high * 2
    while low < high - 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count(middle) < parameters else (low, middle)
    return min((low, high), key=lambda size: abs(count(size) - parameters))
