"""What the checks share."""


def require(holds: bool, otherwise: str) -> None:
    """Raise AssertionError with a reason where a condition does not hold."""
    if not holds:
        raise AssertionError(otherwise)
