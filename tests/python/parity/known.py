"""Differences from NumPy that the parity driver finds, and the reason why each one remains.

A key is a pattern for the line that the driver reports: the call, its case, and the difference.
"""

import re

KNOWN = {
    # deliberate
    r"\.__array__\(\).*: <class 'numpy.ndarray'> for an array": "gives libraries NumPy's own array",
    r"derived, .*.*<class 'numpy.ndarray'> for an array": (
        "methods of classes derived from `ndarray` are NumPy's own, and give its arrays where they leave "
        "the class"
    ),
    r"^np\.roll\(A, \(\), \(\)\) .*0-d": "NumPy's error is one of its own unpacking",
    r"(x\[.*\]|A\[.*\]) = x\[::-1\] .*operand x afterwards": (
        "NumPy, whose masks do not look for overlap, reads elements that it has just overwritten"
    ),
    r"astype\('u4'\) \[f[248]": "what NaN becomes depends on the order in which NumPy's loop walks",
    r"^[xA].*\.view\(complex\) \[g, ": "long doubles have bytes that hold no part of the number",
    # found by the driver: error texts and layouts on which programs hardly ever depend
    r"^del [xA]\.\w+ .*property has no deleter": "another text for attributes that cannot be deleted",
    r"^x\.imag = 2 \[[OUSMm>]": (
        "the array without imaginary parts is also read-only, and the other error comes first"
    ),
    r"^(np\.roll|A\.byteswap).* broadcast, .*: strides": "axes of step 0 are ordered otherwise in copies",
    r"^np\.abs.*(where=m|out=x).*\[c.*ComplexWarning": "NumPy warns of a cast back that it does not need",
    r"^np\.absolute.*(where=m|out=x).*\[c.*ComplexWarning": "as with np.abs",
    r"(multiply|square|reciprocal|\*).* \[c(8|16), .*: warns": (
        "complex operations that are made of several name one of these, or warn of the same once more"
    ),
    r"^[xA]\[.*\] = .*: warns .*in cast": (
        "values that are recorded are cast, and warn, before the call finds that their number does not fit"
    ),
    r"(sum|mean|std|var)\b.* \[f[248], .*: warns .*encountered in reduce": (
        "of two infinities and a NaN in a sum it depends on the order of additions whether the "
        "infinities meet"
    ),
    r"\.mean\(axis=\(0, 0\)\) \[.*, (empty|0 elements).*Mean of empty slice": (
        "NumPy warns before it finds the axis twice"
    ),
    r"^np\.multiply\.reduceat": "reductions of parts are recorded as reductions, and say so in warnings",
    r"^np\.multiply\.at\(.* \[c(8|16), ": "products of complex numbers may be fused, in the last place",
    r"^np\.(digitize|searchsorted).*owndata": "what threads have filled is a view of a larger array",
    r"^np\.fft\.irfft.* \[.*, 0 elements": "NumPy's result has elements that nobody has written",
    r"^np\.nanmean\(x\) .*scalar divide": "of no elements: NumPy divides scalars, which its warning says",
    r"^A\[M\] = B \[.* 0 elements, derived": "only NumPy looks at the axes of nothing that is assigned",
    r"^A\[\[0, 2\]\] = B\[M\] \[.* 0 elements, derived": "as with keys without elements, below",
    r"^A(\.T)?\[.*\bM\b.* 0 elements, derived": (
        "NumPy takes a key without elements that is no array of its own class for a list of positions"
    ),
    r"^([AC])(\.T)?\[\1 > 0\].* \[c(8|16), .*: warns \[\], .*encountered in greater": (
        "the mask's shape does not fit, or the array is read-only, and a recorded comparison that nobody can "
        "use any more is never run"
    ),
    r"where=m, out=.*warns .*overflow encountered in where": "casts of what a mask leaves out name `where`",
    r"^np\.full_like\(x, 1e300\) .* (empty|0 elements), .*: warns": (
        "the number is cast although there is no element"
    ),
}


def is_known(failure):
    """Return whether a difference is one of those above."""
    return any(re.search(pattern, failure) for pattern in KNOWN)
