"""Write docs/coverage.md: which of NumPy's functions run natively, as found by running them."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.python.support import surface  # noqa: E402

surface.refresh()
(ROOT / "docs" / "coverage.md").write_text(surface.table())
