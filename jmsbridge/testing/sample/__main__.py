"""Copy the sample backend: ``python -m jmsbridge.testing.sample FOLDER``."""

from pathlib import Path
from typing import Annotated

import typer

from jmsbridge.testing.sample import copy


def main(folder: Annotated[Path, typer.Argument(help="A new folder, or an empty one.")]) -> None:
    """Copy the sample backend and its tests, as a starting point for your own."""
    try:
        made = copy(folder)
    except FileExistsError as error:
        raise typer.BadParameter(f"{error}: the sample is only copied into a new or empty folder") from None
    for path in made:
        print(path)
    print(f"\nNow run in {folder}:\n  pip install -e '.[testing]'\n  pytest --level contract")


if __name__ == "__main__":
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.command()(main)
    app(prog_name="python -m jmsbridge.testing.sample")
