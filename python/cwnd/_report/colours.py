"""Colours that a reader can distinguish, with every kind of colour vision."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import to_hex, to_rgb

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[np.float64]

#: On linear RGB: normal vision, then Machado, Oliveira and Fernandes 2009 at severity 1, without the cones of
#: long, middle and short waves.
_VISIONS = np.array(
    [
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
    ]
)
#: Linear sRGB to XYZ over the white of D65.
_TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
) / np.array([[0.95047], [1], [1.08883]])
#: Apart enough: the distance of two looks of the registry that share their line or their marker.
_APART = 11.0


def distinct_colours(preferred: Iterable[str], count: int, others: Iterable[str]) -> list[str]:
    """So many colours, each apart from `others` and from those before it.

    The first of `preferred` that is far enough, else the farthest of all candidates.
    """
    first = list(preferred)
    candidates = first + _grid()
    labs = np.stack([_lab(colour) for colour in candidates])
    nearest = np.full(len(candidates), np.inf)

    def avoid(colour: str) -> None:
        distance = np.min(
            [_distance(labs[:, eye], _lab(colour)[eye]) for eye in range(len(_VISIONS))], axis=0
        )
        np.minimum(nearest, distance, out=nearest)

    for colour in others:
        avoid(colour)
    chosen = []
    for _ in range(count):
        apart = [index for index in range(len(first)) if nearest[index] >= _APART]
        chosen.append(candidates[apart[0] if apart else int(nearest.argmax())])
        avoid(chosen[-1])
    return chosen


@cache
def _grid() -> list[str]:
    """Colours at even distances, without those that are too light on white."""
    steps = np.linspace(0, 1, 7)
    colours = [to_hex(rgb) for rgb in product(steps, steps, steps)]
    return [colour for colour in colours if 12 <= _lab(colour)[0][0] <= 72]


@cache
def _lab(colour: str) -> Numbers:
    """The colour in CIE L*a*b*, as each kind of vision has it."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = np.clip(_VISIONS @ linear, 0, 1) @ _TO_XYZ.T
    x, y, z = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29).T
    found: Numbers = np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)
    return found


def _distance(many: Numbers, one: Numbers) -> Numbers:
    """CIEDE2000 of each of many colours from one (Sharma, Wu and Dalal 2005)."""
    l1, a1, b1 = many.T
    l2, a2, b2 = one
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    g = 0.5 * (1 - np.sqrt(mean**7 / (mean**7 + 25.0**7)))
    a1, a2 = (1 + g) * a1, (1 + g) * a2
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = np.degrees(np.arctan2(b1, a1)) % 360, np.degrees(np.arctan2(b2, a2)) % 360
    grey = c1 * c2 == 0
    turn = np.where(grey, 0.0, (h2 - h1 + 180) % 360 - 180)
    hue = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))
    middle = np.where(grey, h1 + h2, (h1 + turn / 2) % 360)
    t = 1 - 0.17 * np.cos(np.radians(middle - 30)) + 0.24 * np.cos(np.radians(2 * middle))
    t += 0.32 * np.cos(np.radians(3 * middle + 6)) - 0.2 * np.cos(np.radians(4 * middle - 63))
    light, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    s_l = 1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2)
    s_c, s_h = 1 + 0.045 * chroma, 1 + 0.015 * chroma * t
    spread = 30 * np.exp(-(((middle - 275) / 25) ** 2))
    r_t = -np.sin(np.radians(2 * spread)) * 2 * np.sqrt(chroma**7 / (chroma**7 + 25.0**7))
    parts = ((l2 - l1) / s_l, (c2 - c1) / s_c, hue / s_h)
    found: Numbers = np.sqrt(sum(part**2 for part in parts) + r_t * parts[1] * parts[2])
    return found
