"""`cwnd linux`."""

from __future__ import annotations

import json

import click

from cwnd._common.errors import one_line
from cwnd._worlds import _machine


@click.group("linux")
def linux_command() -> None:
    """A real Linux kernel in virtual time, for 'cwnd run --on linux'. Needs no root."""


@linux_command.command("setup", short_help="Get the kernel and the emulator, once.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; progress on standard error.")
def _setup(as_json: bool) -> None:
    """Get Debian's kernel, and QEMU if this machine has none, from the distribution's packages.

    They go into the user's cache and are used from there without a network. A machine that is
    there and whole is left as it is.
    """
    packages = _machine.missing()
    if packages:
        size = sum(package.bytes for package in packages)
        plural = "s" * (len(packages) > 1)
        click.echo(
            f"{len(packages)} package{plural}, {size / 1e6:.0f} MB, from this system's sources:", err=as_json
        )
    release = _machine.get(lambda line: click.echo(f"  {line}", err=as_json))
    if as_json:
        new = [package.name for package in packages]
        click.echo(json.dumps({"release": release, "folder": str(_machine.folder()), "packages": new}))
        return
    state = "is ready" if packages else "is there and whole"
    click.echo(
        f"Linux {release} {state} in {one_line(str(_machine.folder()))}; try 'cwnd run FILE --on linux'"
    )
