"""What numelt changes in bottleneck."""

from __future__ import annotations

from numelt.compat.wrapping import Name, giving_back

TESTED = ">=1.6,<1.7"
WRAPPED = (
    Name("bottleneck.slow.nonreduce", "replace", giving_back, "it refuses what `type(a) is not ndarray`"),
)
