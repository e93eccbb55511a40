"""Write the tables of NumPy's ziggurats, as the installed NumPy uses them, to a Rust file.

In: the installed NumPy. Its distributions draw from a bit generator of this script, which returns chosen
words, so that the tables can be derived from the results. Out: crates/array/src/random/ziggurat_tables.rs,
with the width, the bound and the height of each of the 256 layers of both distributions. The heights cannot
be derived to the last bit in this way; they are computed with 40 digits from the edges of the layers.
"""

import ctypes
import decimal
import threading
from pathlib import Path

import numpy as np

TARGET = Path(__file__).resolve().parent.parent / "crates/array/src/random/ziggurat_tables.rs"
LAYERS = 256


class Interface(ctypes.Structure):
    """NumPy's `bitgen_t`."""

    _fields_ = (
        ("state", ctypes.c_void_p),
        ("next_uint64", ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)),
        ("next_uint32", ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)),
        ("next_double", ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)),
        ("next_raw", ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)),
    )


class Scripted:
    """A bit generator that returns chosen words, and counts the uniform numbers that are drawn from it."""

    def __init__(self):
        self.word, self.doubles, self.lock = 0, 0, threading.Lock()
        kinds = dict(Interface._fields_)
        self._interface = Interface(
            None,
            kinds["next_uint64"](lambda _: self.word),
            kinds["next_uint32"](lambda _: 0),
            kinds["next_double"](self._double),
            kinds["next_raw"](lambda _: self.word),
        )
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        self.capsule = make(ctypes.addressof(self._interface), b"BitGenerator", None)

    def _double(self, _):
        self.doubles += 1
        # zero is accepted next to the inner edge of a layer; the tail of the first layer draws two numbers
        return 0.0 if self.doubles == 1 else 0.5


def tables(draw, source, word, bits):
    """Return bounds and widths of the layers; `draw()` draws from `source` with `word(layer, place)`."""

    def drawn(layer, place):
        source.word, source.doubles = word(layer, place), 0
        value = draw()
        return value, source.doubles == 0

    bounds, widths = [], []
    for layer in range(LAYERS):
        low, high = 0, 1 << bits
        while low < high:
            middle = (low + high) // 2
            if drawn(layer, middle)[1]:
                low = middle + 1
            else:
                high = middle
        bounds.append(low)
        # a position below the bound, or one next to the middle, which the wedge contains
        widths.append(drawn(layer, 1)[0])
    return bounds, widths


def heights(widths, bits, exponent):
    """Return the densities at the outer edges of the layers."""
    decimal.getcontext().prec = 40
    edges = [decimal.Decimal(width) * (1 << bits) for width in widths]
    # the first layer is so wide that it has the area of the tail
    return [1.0] + [float(exponent(edge).exp()) for edge in edges[1:]]


def rust(name, kind, values, summary):
    """Return a table as Rust source."""
    text = [f"{v:#x}" if kind == "u64" else repr(v) for v in values]
    rows = "".join(f"    {', '.join(text[at : at + 4])},\n" for at in range(0, LAYERS, 4))
    skip = "#[rustfmt::skip] // several numbers in a line"
    return f"/// {summary}\n{skip}\npub const {name}: [{kind}; {LAYERS}] = [\n{rows}];\n"


def main():
    """Derive the tables, and write the file."""
    source = Scripted()
    generator = np.random.Generator(source)
    normal = tables(generator.standard_normal, source, lambda layer, place: layer | place << 9, 52)
    exponential = tables(
        generator.standard_exponential, source, lambda layer, place: layer << 3 | place << 11, 53
    )
    parts = ["//! The layers of NumPy's ziggurats; `scripts/ziggurat_tables.py` has written this file.\n"]
    for name, (bounds, widths), bits, exponent in (
        ("NORMAL", normal, 52, lambda x: -x * x / 2),
        ("EXPONENTIAL", exponential, 53, lambda x: -x),
    ):
        high = heights(widths, bits, exponent)
        parts.append(
            rust(f"{name}_BOUNDS", "u64", bounds, "Places below these are inside a layer at all heights.")
        )
        parts.append(rust(f"{name}_WIDTHS", "f64", widths, "Distance of neighbouring places of a layer."))
        parts.append(rust(f"{name}_HEIGHTS", "f64", high, "Density at a layer's outer edge."))
    TARGET.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
