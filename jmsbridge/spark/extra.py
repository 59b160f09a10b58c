"""What the programs of this package say where Spark is not installed."""

from typing import NoReturn

__all__ = ["advise_extra"]

_OF_THE_EXTRA = {"pyspark", "py4j", "pandas", "pyarrow"}


def advise_extra(error: ModuleNotFoundError) -> NoReturn:
    """End the program with the command that installs what is missing; any other module's absence is raised."""
    if (error.name or "").partition(".")[0] not in _OF_THE_EXTRA:
        raise error
    raise SystemExit("error: Spark is missing: pip install 'jmsbridge[spark]'") from None
