"""The outcome of a call, with the text of its exception as NumPy writes it."""

import warnings

from .compare import as_numpy


def outcome(function, *args, **kwargs):
    """Return the outcome of a call: the result, or the exception's class and text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args, **kwargs)
            text = as_numpy(result)
        except Exception as error:  # the exception is what is compared
            result, text = None, (type(error), str(error).replace("numelt", "numpy"))
    return result, text, [(w.category, str(w.message)) for w in caught]
