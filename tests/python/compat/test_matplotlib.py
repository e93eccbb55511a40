"""Matplotlib draws the same from our arrays as from NumPy's: columns are data sets, and colors are colors."""

from typing import Any

import numpy
import pytest

import numelt

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.mark.parametrize(
    "statement",
    [
        "ax.boxplot(np.arange(12.0).reshape(4, 3))",
        "ax.violinplot(np.arange(12.0).reshape(4, 3))",
        "ax.hist(np.arange(12.0).reshape(4, 3), bins=np.linspace(0, 12, 4))",
        "ax.hist([np.arange(3.0), np.arange(4.0)])",
        "ax.imshow(np.arange(48.0).reshape(4, 4, 3) / 48, extent=np.array([0, 1, 0, 1]))",
        "ax.scatter(np.arange(5.0), np.arange(5.0), c=np.arange(15.0).reshape(5, 3) / 15, s=np.arange(5.0))",
        "ax.plot(np.arange(5.0), np.arange(10.0).reshape(5, 2), color=np.array([0.1, 0.2, 0.3]))",
        "ax.plot(np.arange(5), marker=np.array([[0, 0], [0, 1], [1, 1.0]]))",
        "ax.errorbar(np.arange(3.0), np.arange(3.0), yerr=np.ones((2, 3)), xerr=np.arange(3.0).mean())",
        "ax.streamplot(np.arange(3), np.arange(3), np.ones((3, 3)), np.eye(3), linewidth=np.ones((3, 3)))",
        "ax.contourf(np.arange(16.0).reshape(4, 4), levels=np.linspace(0, 16, 4))",
        "ax.bar(np.arange(3), np.arange(3.0), width=np.array([0.2, 0.4, 0.6]), color=np.eye(3))",
        "ax.fill_between(np.arange(5.0), np.arange(5.0), where=np.arange(5) > 2)",
        "ax.eventplot(np.arange(6.0).reshape(2, 3))",
        "ax.add_collection(collections.PolyCollection(np.arange(12.0).reshape(2, 3, 2)))",
        "ax.plot(np.arange('2020-01', '2020-04', dtype='M8[M]'), np.arange(3))",
    ],
)
def test_same_picture(statement: str) -> None:
    from matplotlib import collections, pyplot

    pictures = []
    for np in (numpy, numelt):
        figure = pyplot.figure(figsize=(1, 1), dpi=50)
        ax: Any = figure.add_subplot()
        eval(statement, {"np": np, "ax": ax, "collections": collections})
        canvas: Any = figure.canvas
        canvas.draw()
        pictures.append(numpy.array(canvas.buffer_rgba()))
        pyplot.close(figure)
    assert numpy.array_equal(*pictures)
