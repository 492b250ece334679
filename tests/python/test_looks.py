"""Which algorithms a reader can distinguish in a figure, with every kind of colour vision."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from matplotlib.colors import to_rgb

import cwnd
from cwnd._report.looks import looks

if TYPE_CHECKING:
    Numbers = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


#: Machado, Oliveira and Fernandes 2009, severity 1: on linear RGB.
VISIONS = {
    "normal": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
#: Least distance of two looks that share line or marker, and of any two.
APART_SHARING, APART = 11, 6


def seen(colour: str, vision: str) -> Numbers:
    """The colour in CIE L*a*b*, of sRGB under D65."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(VISIONS[vision]) @ linear, 0, 1)
    to_xyz = [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
    xyz = np.array(to_xyz) @ linear / [0.95047, 1, 1.08883]
    x, y, z = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def ciede2000(one: Sequence[float], two: Sequence[float]) -> float:
    (l1, a1, b1), (l2, a2, b2) = one, two
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    g = 0.5 * (1 - np.sqrt(mean**7 / (mean**7 + 25.0**7)))
    a1, a2 = (1 + g) * a1, (1 + g) * a2
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = np.degrees(np.arctan2(b1, a1)) % 360, np.degrees(np.arctan2(b2, a2)) % 360
    turn = 0.0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    hue = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))
    middle = h1 + h2 if c1 * c2 == 0 else (h1 + turn / 2) % 360
    t = 1 - 0.17 * np.cos(np.radians(middle - 30)) + 0.24 * np.cos(np.radians(2 * middle))
    t += 0.32 * np.cos(np.radians(3 * middle + 6)) - 0.2 * np.cos(np.radians(4 * middle - 63))
    light, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    s_l = 1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2)
    s_c, s_h = 1 + 0.045 * chroma, 1 + 0.015 * chroma * t
    spread = 30 * np.exp(-(((middle - 275) / 25) ** 2))
    r_t = -np.sin(np.radians(2 * spread)) * 2 * np.sqrt(chroma**7 / (chroma**7 + 25.0**7))
    parts = ((l2 - l1) / s_l, (c2 - c1) / s_c, hue / s_h)
    return float(np.sqrt(sum(part**2 for part in parts) + r_t * parts[1] * parts[2]))


@pytest.mark.parametrize(
    ("one", "two", "published"),
    [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.4900, -0.0010), (50.0, -2.4900, 0.0009), 7.1792),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
        ((90.8027, -2.0831, 1.4410), (91.1528, -1.6435, 0.0447), 1.4441),
    ],
)
def test_the_distance_is_that_of_published_pairs(
    one: Sequence[float], two: Sequence[float], published: float
) -> None:
    """Sharma, Wu and Dalal 2005, table 1: pairs 1, 9, 17, 31 and 32."""
    assert ciede2000(one, two) == pytest.approx(published, abs=1e-4)
    assert ciede2000(two, one) == pytest.approx(published, abs=1e-4)


def test_no_two_looks_share_line_and_marker() -> None:
    """So that they can be distinguished in grey, too."""
    look = looks([])
    assert len({(str(one.line), one.marker) for one in look.values()}) == len(look) >= 35


@pytest.mark.parametrize("vision", VISIONS)
def test_colours_differ_with_every_kind_of_colour_vision(vision: str) -> None:
    named = looks([])
    colours = {name: seen(look.colour, vision) for name, look in named.items()}
    for one, two in combinations(named, 2):
        sharing = named[one].line == named[two].line or named[one].marker == named[two].marker
        least = APART_SHARING if sharing else APART
        assert ciede2000(colours[one], colours[two]) >= least, f"{one} and {two} with {vision}"


def test_every_algorithm_and_preset_has_a_look_that_no_other_name_changes() -> None:
    names = [one["name"] for one in (*cwnd.algorithms(), *cwnd.presets())]
    assert set(names) <= set(looks([]))
    with_own = looks(["mine", "another", *reversed(names)])
    assert {name: with_own[name] for name in looks([])} == looks([])
