"""`cwnd lab`."""

from __future__ import annotations

import webbrowser
from importlib import resources

import click

from cwnd import Error


@click.command("lab")
def lab_command() -> None:
    """Open the lab: the simulator in a web page, with sliders, lessons and packets that move.

    The page is one file. It needs no network, and prints its address for another browser.
    """
    page = resources.files("cwnd") / "_web" / "lab.html"
    if not page.is_file():
        raise Error(
            "lab: the page was not there when this was built from source; accepted: a wheel, or in a clone "
            "'make lab man', then 'pip install .'"
        )
    with resources.as_file(page) as path:
        address = path.absolute().as_uri()
    click.echo(address)
    webbrowser.open(address)
