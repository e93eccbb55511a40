"""Archives that `savez` has written are read as arrays of numelt, however their items are asked for."""

import io
import pathlib

import numpy
import pytest

import numelt


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "x.npz"
    records = numelt.array([(1, 2.0)], [("a", int), ("b", float)])
    numelt.savez(path, x=numelt.arange(5.0), names=numelt.array(["a", "b"]), records=records, one=7)
    return path


def test_items_are_arrays_of_numelt(archive):
    with numelt.load(archive) as data:
        asked = [
            data["x"],
            data.f.x,
            data.get("x"),
            dict(data)["x"],
            next(iter(data.values())),
            dict(data.items())["x"],
        ]
        assert [type(x) for x in asked] == [numelt.ndarray] * 6
        assert all(type(x + 1) is numelt.ndarray and x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0] for x in asked)
        assert [type(data[name]) for name in data] == [numelt.ndarray] * 4
        assert data["names"].tolist() == ["a", "b"]
        assert data["records"]["b"].tolist() == [2.0]
        assert data["one"].shape == ()
        assert int(data["one"]) == 7
        x = data["x"]
        x[0] = 9
        assert x.flags.writeable
        assert data["x"][0] == 0


def test_archives_are_numpys_otherwise(archive):
    theirs, ours = numpy.load(archive), numelt.load(archive)
    assert isinstance(ours, numpy.lib.npyio.NpzFile)
    assert str(ours) == str(theirs)
    assert (ours.files, len(ours), "x" in ours, "y" in ours) == (theirs.files, 4, True, False)
    assert type(numpy.load(archive)["x"]) is numpy.ndarray
    for wrong in (lambda data: data["nothing"], lambda data: data.f.nothing):
        errors = []
        for data in (theirs, ours):
            with pytest.raises((KeyError, AttributeError)) as caught:
                wrong(data)
            errors.append((caught.type, str(caught.value)))
        assert errors[0] == errors[1]
    theirs.close()
    ours.close()


@pytest.mark.parametrize("wrong", [(), ("nowhere.npz",), (b"",), (3,)], ids=repr)
def test_errors(wrong):
    raised = []
    for module in (numpy, numelt):
        with pytest.raises((TypeError, ValueError, OSError, EOFError)) as caught:
            module.load(*(io.BytesIO(x) if type(x) is bytes else x for x in wrong))
        raised.append((caught.type, str(caught.value)))
    assert raised[0] == raised[1]


def test_other_files(tmp_path):
    path = pathlib.Path(tmp_path) / "x.npy"
    numelt.save(path, numelt.arange(3))
    assert type(numelt.load(path)) is numelt.ndarray
    assert isinstance(numelt.load(path, mmap_mode="r"), numpy.memmap)
    numelt.save(path, numelt.array([{"a": 1}], object))
    assert numelt.load(path, allow_pickle=True)[0] == {"a": 1}
    with pytest.raises(ValueError, match="allow_pickle"):
        numelt.load(path)
