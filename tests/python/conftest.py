"""Property tests try the same examples in every run; NUMELT_EXPLORE=1 looks for new ones."""

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile("explore" if os.environ.get("NUMELT_EXPLORE") == "1" else "same")
