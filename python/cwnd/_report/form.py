"""The form of a figure: its width, its letters, and whether it has its title inside."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

from cwnd._common.errors import error, one_line

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType


class Form(NamedTuple):
    """A page or a slide that figures are made for."""

    width_in: float
    font_pt: float
    #: A caption has the title otherwise.
    titled: bool
    #: Dots per inch of a PNG.
    dpi: int = 200
    #: Height over width of a figure with a single row of panels, instead of its own.
    height_ratio: float | None = None

    @property
    def style(self) -> dict[RcKeyType, object]:
        font = self.font_pt
        return {"font.size": font, "axes.titlesize": font, "figure.titlesize": font + 1}


#: IEEEtran's column is 252 pt wide, 3.487 inches; acmart's sigconf 3.33. A slide is 13.33 inches
#: wide: the figure fills it when it is enlarged twice, and its letters are 20 points.
FORMS = {
    "ieee": Form(3.486, 8, False, 300),
    "acm": Form(3.33, 8, False, 300),
    "slides": Form(6.67, 10, True, 300, 9 / 16),
}
#: Least and greatest width in inches.
_LEAST_IN, _MOST_IN = 2.0, 20.0
#: Figures narrower than this have smaller letters.
_NARROW_IN = 5.0

_CURRENT: ContextVar[Form | None] = ContextVar("form", default=None)


def read_form(width: str | float | None) -> Form | None:
    """The form of a name in `FORMS` or of a width in inches. Raises an `Error` about `figure_width`."""
    if width is None:
        return None
    if isinstance(width, str) and width in FORMS:
        return FORMS[width]
    with contextlib.suppress(TypeError, ValueError):
        inches = float(width)
        if not isinstance(width, bool) and _LEAST_IN <= inches <= _MOST_IN:
            return Form(inches, 8 if inches < _NARROW_IN else 9, False, 300)
    raise error(
        "figure_width",
        f"{one_line(repr(width))} is not a width; one is {', '.join(FORMS)} or "
        f"{_LEAST_IN:g} to {_MOST_IN:g} inches",
    )


@contextlib.contextmanager
def form_of_figures(form: Form | None) -> Iterator[None]:
    """Figures that are made within have this form."""
    token = _CURRENT.set(form)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current_form() -> Form | None:
    return _CURRENT.get()


def size_in(width: float, height: float, rows: int = 1) -> tuple[float, float]:
    """Width and height in inches of a figure that would have these without a form."""
    form = _CURRENT.get()
    if form is None:
        return width, height
    if form.height_ratio is not None and rows == 1:
        return form.width_in, form.width_in * form.height_ratio
    # Letters do not shrink as the width does.
    return form.width_in, height * math.sqrt(form.width_in / width) if rows == 1 else height


def columns_that_fit(columns: int, panel_in: float) -> int:
    """At most as many columns of panels as the form has room for, each at least `panel_in` wide."""
    form = _CURRENT.get()
    return columns if form is None else max(1, min(columns, int(form.width_in / panel_in)))
