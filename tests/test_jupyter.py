"""In a notebook: what completion offers, what `plot` returns, and pictures in a dark style."""
import inspect
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

import uqcal
from uqcal.metrics import bca_interval, conditional_calibration, reliability_diagram

ROOT = Path(uqcal.__file__).parents[1]
RNG = np.random.default_rng(2)
U = np.exp(0.3 * RNG.standard_normal(200))
E = U * RNG.standard_normal(200)
P = RNG.random(200)
Y = (RNG.random(200) < P).astype(int)


def test_completion_offers_no_plumbing():
    import uqcal.adapters.rows  # what was imported meanwhile changes nothing
    offered = set(dir(uqcal))
    assert {"import_module", "adapters", "_CONTENTS", "_HOME", "_base"} & offered == set()
    assert offered == {"__version__", *uqcal.__all__, *uqcal._MODULES} and all(hasattr(uqcal, name) for name in offered)


def test_every_plot_says_that_it_returns_axes():
    "A display's `plot` alone returns the display, as scikit-learn's do."
    said = {}
    for path in sorted((ROOT / "uqcal").rglob("*.py")):
        if path.name == "displays.py": continue
        for found in re.finditer(r"(?ms)^    def plot\w*\((.*?)\n?\s*\) -> (\w+):", path.read_text(encoding="utf-8")): said[path.name, found.start()] = found.group(2)
    assert len(said) > 25 and set(said.values()) <= {"Axes", "Any"}
    assert inspect.signature(uqcal.Report.plot).parameters.keys() == {"self", "ax", "finding"}


@pytest.mark.parametrize("made", [lambda: reliability_diagram(Y, P), lambda: conditional_calibration(E, U, n_bins=5), lambda: bca_interval("zms", E, U, n_boot=99, rng=1)],
                         ids=["reliability", "mean and std", "bootstrap"])
def test_pictures_are_readable_on_dark_and_on_light(made):
    for style in ("default", "dark_background"):
        with plt.style.context(style):
            ax = made().plot()
            assert isinstance(ax, Axes)
            behind = np.array(to_rgb(ax.get_facecolor()))
            drawn = [*(line.get_color() for line in ax.lines), *(text.get_color() for text in ax.texts if text.get_text())]
            assert drawn and min(np.abs(np.array(to_rgb(colour)) - behind).max() for colour in drawn) > 0.4
            ax.figure.canvas.draw()
