"""Sliders in a notebook."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import Protocol, TypeAlias, TypeGuard, cast

from cwnd._common.errors import error
from cwnd._run.run import run
from cwnd._scenario.scenario import Cca, DumbbellKeys, Scenario, dumbbell

#: A slider, or the values of a choice.
_Varied: TypeAlias = "tuple[float, float, str] | list[object]"


class _Control(Protocol):
    """A widget with a value."""

    value: object


def explore(cca: Cca | list[Cca], *, figure: str = "cwnd", **values: object) -> object:
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
        ipywidgets = importlib.import_module("ipywidgets")
    except ImportError:
        raise error("explore", "needs ipywidgets; pip install 'cwnd[notebook]'") from None
    controls = {name: _control(ipywidgets, name, value) for name, value in values.items() if _varies(value)}
    fixed = {name: value for name, value in values.items() if not _varies(value)}
    units = {name: value[2] for name, value in values.items() if isinstance(value, tuple)}

    def asked(chosen: Mapping[str, object]) -> Scenario:
        moved = {
            name: f"{value:g} {units[name]}" if name in units else value for name, value in chosen.items()
        }
        return dumbbell(cca, **cast("DumbbellKeys", {**fixed, **moved}))

    def draw(**chosen: object) -> None:
        display = importlib.import_module("IPython.display")
        display.display(run(asked(chosen)).plot(figure))

    asked({name: control.value for name, control in controls.items()})
    output = ipywidgets.interactive_output(draw, controls)
    return ipywidgets.VBox([*controls.values(), output])


def _varies(value: object) -> TypeGuard[_Varied]:
    return isinstance(value, tuple | list)


def _control(ipywidgets: ModuleType, name: str, value: _Varied) -> _Control:
    made: _Control
    if isinstance(value, list):
        made = ipywidgets.Dropdown(options=value, description=name)
        return made
    if (
        len(value) != 3
        or not all(isinstance(end, int | float) for end in value[:2])
        or not value[0] < value[1]
    ):
        raise error(name, f"{value!r} is not a slider; a tuple like (1, 100, 'Mbps') is")
    least, most, _ = value
    made = ipywidgets.FloatSlider(
        value=(least + most) / 2,
        min=least,
        max=most,
        description=name,
        readout_format="g",
        continuous_update=False,
    )
    return made
