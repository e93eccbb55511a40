"""What a call gives, with the words of its exception as NumPy has them."""

import warnings

from .compare import as_numpy


def outcome(function, *args, **kwargs):
    """Return what a call gives: the result, or the exception's class and words."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args, **kwargs)
            text = as_numpy(result)
        except Exception as error:  # the exception is what is compared
            result, text = None, (type(error), str(error).replace("numelt", "numpy"))
    return result, text, [(w.category, str(w.message)) for w in caught]
