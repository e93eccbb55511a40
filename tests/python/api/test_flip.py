"""`flip` returns a view."""

import numelt


def test_flip_is_a_view():
    a = numelt.arange(6.0).reshape(2, 3)
    turned = numelt.flip(a)
    turned[0, 0] = 10.0
    assert a.tolist() == [[0, 1, 2], [3, 4, 10]]
    assert turned.base is not None
    a.flags.writeable = False
    assert not numelt.flip(a).flags.writeable
    assert numelt.flip([1, 2, 3]).tolist() == [3, 2, 1]
    assert numelt.flip(a, 0).tolist() == [[3, 4, 10], [0, 1, 2]]
    assert float(numelt.flip(numelt.array(2.0))) == 2.0
