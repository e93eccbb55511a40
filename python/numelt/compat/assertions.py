"""The context managers of ``numpy.testing`` that examine warnings: pending work warns before they do.

In: nothing. Out: nothing; the context managers run pending operations that could warn. Loaded with
`numelt.testing`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from numpy.testing._private import utils

from numelt import _core
from numelt.compat.warning import settling

__all__: list[str] = []


def _settled(context: Callable[..., Any]) -> Callable[..., Any]:
    @contextlib.contextmanager
    def manager(*args: Any, **kwargs: Any) -> Iterator[None]:
        with context(*args, **kwargs):
            yield
            _core.settle_warnings()

    return manager


for _name in ("_assert_warns_context", "_assert_no_warnings_context"):
    if hasattr(utils, _name):
        setattr(utils, _name, _settled(getattr(utils, _name)))
if hasattr(utils, "suppress_warnings"):
    settling(utils.suppress_warnings)
