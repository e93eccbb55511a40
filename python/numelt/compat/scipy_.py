"""What numelt changes in SciPy: mostly compiled functions, which it calls with the arrays of the program."""

from __future__ import annotations

from numelt.compat.numpy_ import teach_shuffles
from numelt.compat.wrapping import Name, converting, giving_back, making, naming

TESTED = ">=1.17,<1.18"
# compiled modules that treat their arguments, or the results of user callbacks, as NumPy's arrays
COMPILED = (
    "scipy.optimize.", "scipy.integrate.", "scipy.linalg.", "scipy.ndimage.", "scipy.interpolate.",
    "scipy.spatial._qhull", "scipy.sparse.linalg.", "scipy.sparse._csparsetools",
)  # fmt: skip
_OUT = "it refuses an `out` whose class is not NumPy's very own"
_POWER = "its C code reads the exponent's class"
# NumPy asks the memory view below its view of an array with gaps whether it is writeable, and gets an error
_WRITEABLE = "it sets the flag `writeable` of the arrays that it makes of the indices"
_SOLVER = "the compiled object, or its method, that it returns wants NumPy's class"
_SUBCLASS = "it asks `issubclass(type(x), ndarray)`"
WRAPPED = (
    Name("scipy._lib._util", "check_random_state", naming, "the argument may be the module `np.random`"),
    Name("scipy._lib.array_api_compat.common._helpers", "_issubclass_fast", naming, _SUBCLASS),
    Name(
        "scipy._lib.array_api_compat.common._helpers", "is_numpy_namespace", naming,
        "the argument may be the module numelt",
    ),
    Name(
        "scipy.ndimage._ni_support", "_get_output", giving_back,
        "what was given as `output` is what the functions return",
    ),
    Name("scipy.sparse._index", "IndexMixin.__getitem__", converting, _WRITEABLE),
    Name("scipy.sparse._index", "IndexMixin.__setitem__", converting, _WRITEABLE),
    Name("scipy.sparse.linalg._dsolve.linsolve", "factorized", making, _SOLVER),
    Name("scipy.sparse.linalg._dsolve.linsolve", "spilu", making, _SOLVER),
    Name("scipy.sparse.linalg._dsolve.linsolve", "splu", making, _SOLVER),
    Name("scipy.spatial.distance", "cdist", giving_back, _OUT),
    Name("scipy.spatial.distance", "pdist", giving_back, _OUT),
    Name("scipy.spatial.transform._rigid_transform", "RigidTransform.__pow__", giving_back, _POWER),
    Name("scipy.spatial.transform._rotation", "Rotation.__pow__", giving_back, _POWER),
)  # fmt: skip
# programs get NumPy's generators from its `check_random_state`
CHANGES = {"scipy._lib._util": lambda _: teach_shuffles()}
