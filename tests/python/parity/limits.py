"""The sizes at which numelt changes how it runs a call; the parity driver uses array sizes around them.

A result must not depend on the way in which a call runs. So every call of the tables runs with the most
elements that each way accepts, and with one more.
"""

import numelt

# Constants of the Rust code, which Python cannot read. One number may be the limit in several places.
CONSTANTS = {
    8: "lanes of the interpreter's loops, and how many arrays are joined one by one",
    16: "lanes of reductions and items of lists that are looked at before a call is handed to NumPy",
    32: "arguments of lists that are read as positions without NumPy, and the axes of flat iterators",
    64: "places of one group of masks, segments of `reduceat`, and elements that are copied at once",
    128: "the block in which NumPy and numelt add pairwise",
    256: "elements of reductions along several axes that run without a plan",
    1024: "elements of calls that are answered without recording, and of lists made by `tolist`",
    2048: "elements that one small call takes, and bytes that are copied instead of shared",
    4096: "positions that are read at once, elements of small products, and bytes that are lent as a copy",
    8192: "the buffer in which NumPy casts",
    1 << 15: "elements of masks that are counted first, and of a share of work for one thread",
    1 << 17: "truth values that are counted at once, and elements of one loop",
    1 << 18: "elements that run at once after reads that came close together",
}


def settings():
    """Return the settings that are numbers of elements."""
    given = int(numelt.config.at_once), int(numelt.config.piecemeal)
    return [limit for limit in given if 1 < limit <= 1 << 18]


LIMITS = sorted({*CONSTANTS, *settings()})
SIZES = [0, 1, 2, 3, *(size for limit in LIMITS for size in (limit, limit + 1))]
