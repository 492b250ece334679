"""Sliders in a notebook."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from cwnd._common.errors import error
from cwnd._run.run import run
from cwnd._scenario.scenario import Cca, dumbbell


def explore(cca: Cca | list[Cca], *, figure: str = "cwnd", **values: Any) -> Any:
    """Sliders over a dumbbell, which is simulated and drawn again at each move; for Jupyter.

    Args:
        cca, values: Those of `dumbbell`. A value that is a tuple `(least, most, unit)`, such as
            `(1, 100, "Mbps")`, becomes a slider, a list a choice.
        figure: Which figure of `Results.plot` is drawn.

    Returns:
        The widget (`ipywidgets.VBox`): the sliders in the order of `values`, then the output.

    Raises:
        Error: ipywidgets is not installed; a tuple is not of that form; as `dumbbell` for the first values.
    """
    try:
        ipywidgets: Any = importlib.import_module("ipywidgets")
    except ImportError:
        raise error("explore", "needs ipywidgets; pip install 'cwnd[notebook]'") from None
    controls = {name: _control(ipywidgets, name, value) for name, value in values.items() if _varies(value)}
    fixed = {name: value for name, value in values.items() if not _varies(value)}
    units = {name: value[2] for name, value in values.items() if isinstance(value, tuple)}

    def asked(chosen: Mapping[str, Any]) -> Any:
        moved = {
            name: f"{value:g} {units[name]}" if name in units else value for name, value in chosen.items()
        }
        described: dict[str, Any] = {**fixed, **moved}
        return dumbbell(cca, **described)

    def draw(**chosen: Any) -> None:
        display: Any = importlib.import_module("IPython.display")
        display.display(run(asked(chosen)).plot(figure))

    asked({name: control.value for name, control in controls.items()})
    output = ipywidgets.interactive_output(draw, controls)
    return ipywidgets.VBox([*controls.values(), output])


def _varies(value: Any) -> bool:
    return isinstance(value, tuple | list)


def _control(ipywidgets: Any, name: str, value: Any) -> Any:
    if isinstance(value, list):
        return ipywidgets.Dropdown(options=value, description=name)
    if (
        len(value) != 3
        or not all(isinstance(end, int | float) for end in value[:2])
        or not value[0] < value[1]
    ):
        raise error(name, f"{value!r} is not a slider; a tuple like (1, 100, 'Mbps') is")
    least, most, _ = value
    return ipywidgets.FloatSlider(
        value=(least + most) / 2,
        min=least,
        max=most,
        description=name,
        readout_format="g",
        continuous_update=False,
    )
