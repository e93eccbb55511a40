"""The records of NumPy's public functions: one or several calls of each.

A line reads ``name: call ; call``. Several names that are called alike share a line, in which ``@`` stands
for the name. `operands` makes the operands. The status of a call (native, library, metadata, fallback) is
found by running it; docs/coverage.md contains the expected status, see scripts/coverage_table.py.
"""

# ruff: noqa: E501 - a record is one line

import datetime
import io

import numpy

__all__ = ["RECORDS", "calls", "operands"]


def operands(np):
    """Return new operands for the calls, made by NumPy or numelt."""
    rng = numpy.random.default_rng(11)
    x, y = rng.uniform(0.1, 0.9, 12), rng.uniform(0.1, 0.9, 12)
    m, q = rng.uniform(-2, 2, (3, 4)), rng.uniform(0, 1, (4, 4))
    q = q @ q.T + 4 * numpy.eye(4)
    gaps = x.copy()
    gaps[[2, 7]] = numpy.nan
    return {
        "np": np, "io": io, "datetime": datetime, "after": lambda *parts: parts[-1],
        "x": np.array(x), "y": np.array(y), "m": np.array(m), "q": np.array(q), "w": np.array(x),
        "f": np.array(x.astype("f4")), "h": np.array(y.astype("f4")), "s": np.array(sorted(x)),
        "k": np.array(rng.integers(1, 9, 12)), "l": np.array(rng.integers(1, 5, 12)),
        "u": np.array(rng.integers(0, 2, 16).astype("u1")), "b": np.array(x > 0.5), "n": np.array(gaps),
        "z": np.array(x + 1j * y), "c": np.array(rng.uniform(0, 1, (2, 3, 4))),
        "t": np.array(["b", "abc", "a"]), "d": np.array(["2024-02-03", "2024-02-05"], dtype="M8[D]"),
        "g": np.random.default_rng(7), "r": np.random.RandomState(7), "seeded": np.random.seed(7),
    }  # fmt: skip


NUMPY = """
abs absolute fabs negative positive square sign: np.@(m) ; np.@(f) ; np.@(k)
exp exp2 expm1 log log10 log1p log2 sqrt cbrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh: np.@(x) ; np.@(f)
asin acos atan asinh atanh arctanh deg2rad rad2deg radians degrees: np.@(x) ; np.@(f)
acosh arccosh: np.@(x + 1) ; np.@(f + 1)
ceil floor rint trunc reciprocal: np.@(m) ; np.@(f)
isfinite isinf isnan signbit spacing: np.@(n) ; np.@(f)
isnat: np.@(d)
conj conjugate: np.@(z) ; np.@(m)
invert bitwise_not bitwise_invert bitwise_count: np.@(k)
logical_not: np.@(b) ; np.@(m)
add subtract multiply divide true_divide floor_divide mod remainder fmod: np.@(x, y) ; np.@(f, h) ; np.@(k, l) ; np.@(m, 3) ; np.@(x, m)
power pow float_power: np.@(x, y) ; np.@(k, l)
divmod: np.@(x, y) ; np.@(k, l)
maximum minimum fmax fmin: np.@(x, n) ; np.@(k, l)
equal not_equal less less_equal greater greater_equal: np.@(x, y) ; np.@(k, 3)
logical_and logical_or logical_xor: np.@(b, x > 0.3) ; np.@(x, k)
bitwise_and bitwise_or bitwise_xor: np.@(k, l) ; np.@(b, x > 0.3)
left_shift right_shift bitwise_left_shift bitwise_right_shift: np.@(k, l)
gcd lcm: np.@(k, l)
arctan2 atan2 hypot copysign nextafter heaviside logaddexp logaddexp2: np.@(x, y) ; np.@(f, h)
ldexp: np.@(x, l)
frexp modf: np.@(m * 3)
matmul: np.@(m, q) ; np.@(k, k)
vecdot: np.@(m, m)
matvec: np.@(q, m)
vecmat: np.@(m, q)
all any: np.@(b) ; np.@(m, axis=0)
max min amax amin: np.@(m) ; np.@(m, axis=1) ; np.@(k, keepdims=True) ; np.@(m, axis=5)
ptp: np.@(m) ; np.@(m, axis=0)
sum prod: np.@(m) ; np.@(m, axis=0) ; np.@(m, axis=(0, 1)) ; np.@(f) ; np.@(k) ; np.@(m, axis=5)
mean var std: np.@(m) ; np.@(m, axis=1) ; np.@(k) ; np.@(f)
argmax argmin: np.@(m) ; np.@(m, axis=1)
cumsum cumprod cumulative_sum cumulative_prod: np.@(x) ; np.@(k)
nansum nanprod nanmax nanmin nanmean nanstd nanvar nanargmax nanargmin nancumsum nancumprod: np.@(n)
nanmedian: np.@(n) ; np.@(m, axis=0)
nanpercentile: np.@(n, 30)
nanquantile: np.@(n, 0.3)
median: np.@(x) ; np.@(m, axis=0)
percentile: np.@(x, [20, 50]) ; np.@(m, 30, axis=0)
quantile: np.@(x, 0.3) ; np.@(m, 0.3, axis=1)
average: np.@(m) ; np.@(x, weights=y)
cov corrcoef: np.@(m)
count_nonzero: np.@(m > 0) ; np.@(m, axis=0)
allclose: np.@(x, x) ; np.@(x, y)
isclose: np.@(x, y)
array_equal array_equiv: np.@(x, x) ; np.@(x, y)
angle: np.@(z)
real imag iscomplex isreal: np.@(z) ; np.@(x)
iscomplexobj isrealobj isscalar iterable ndim shape size: np.@(z)
real_if_close: np.@(x + 0j)
append: np.@(x, y) ; np.@(m, m, axis=0)
apply_along_axis: np.@(lambda v: v.sum(), 0, m)
apply_over_axes: np.@(np.sum, c, [0, 2])
arange: np.@(5) ; np.@(1.0, 3.0, 0.5)
linspace: np.@(0, 1, 7)
logspace: np.@(0, 2, 5)
geomspace: np.@(1, 8, 4)
array: np.@([1, 2.5]) ; np.@(m, copy=True) ; np.@([[1, 2], [3]])
asarray asanyarray ascontiguousarray asfortranarray asarray_chkfinite: np.@(m) ; np.@([1, 2])
asmatrix: np.@(m)
astype: np.@(m, np.float32)
copy: np.@(m)
zeros ones empty: np.shape(np.@((2, 3)))
full: np.@((2, 3), 1.5)
zeros_like ones_like: np.@(m)
empty_like: np.shape(np.@(m))
full_like: np.@(m, 2)
eye identity: np.@(3)
tri: np.@(3, 4)
tril triu: np.@(m)
diag: np.@(m) ; np.@(x)
diagflat: np.@(x)
diagonal trace: np.@(m)
vander: np.@(x, 3)
fromfunction: np.@(lambda i, j: i + j, (2, 3))
indices: np.@((2, 3))
meshgrid: np.@(x, k)
ix_: np.@([0, 2], [1, 3])
diag_indices: np.@(3)
diag_indices_from: np.@(q)
tril_indices triu_indices: np.@(3)
tril_indices_from triu_indices_from: np.@(q)
mask_indices: np.@(3, np.triu)
reshape: np.@(m, (4, 3)) ; np.@(m, -1) ; np.@(x, (5, 5))
ravel: np.@(m) ; np.@(m.T)
transpose permute_dims matrix_transpose fliplr flipud rot90: np.@(m)
flip: np.@(m) ; np.@(m, 0)
moveaxis rollaxis: np.@(c, 0, 2)
swapaxes: np.@(c, 0, 2)
expand_dims: np.@(m, 1)
squeeze: np.@(m[:1])
atleast_1d atleast_2d atleast_3d: np.@(x)
broadcast_to: np.@(x, (3, 12))
broadcast_arrays: np.@(x, m[:, :1])
broadcast_shapes: np.@((2, 1), (1, 3))
concatenate concat: np.@([x, y]) ; np.@([m, m], axis=1)
stack vstack hstack dstack column_stack row_stack: np.@([x, y])
unstack: np.@(m)
block: np.@([[m, m], [m, m]])
bmat: np.@([[m, m], [m, m]])
split array_split hsplit: np.@(x, 3)
vsplit: np.@(q, 2)
dsplit: np.@(c, 2)
tile repeat: np.@(m, 2)
roll: np.@(m, 1) ; np.@(m, 1, axis=1)
pad: np.@(m, 1) ; np.@(m, 1, mode='edge')
resize: np.@(m, (5, 5))
insert: np.@(x, 2, 9.0)
delete: np.@(x, [1, 3])
trim_zeros: np.@(np.array([0, 0, 1, 2, 0]))
take: np.@(x, [0, 3, 3]) ; np.@(m, [0, 2], axis=1) ; np.@(x, 99)
take_along_axis: np.@(m, np.argsort(m, axis=1), axis=1)
put: after(np.@(w, [0, 2], 9.0), w)
put_along_axis: after(np.@(m, np.array([[0], [1], [2]]), 9.0, axis=1), m)
place: after(np.@(w, w > 0.5, [9.0, 8.0]), w)
putmask: after(np.@(w, w > 0.5, 9.0), w)
copyto: after(np.@(w, y), w) ; after(np.@(w, 1.0, where=b), w)
fill_diagonal: after(np.@(q, 7.0), q)
compress: np.@(b, x)
extract: np.@(b, x)
choose: np.@(k % 2, [x, y])
select: np.@([x > 0.6, x > 0.3], [x, y], 0.0)
piecewise: np.@(x, [x < 0.5, x >= 0.5], [0.0, 1.0])
where: np.@(b, x, y) ; np.@(b)
nonzero flatnonzero argwhere: np.@(b)
unravel_index: np.@([3, 7], (3, 4))
ravel_multi_index: np.@(([0, 1], [2, 3]), (3, 4))
clip: np.@(x, 0.3, 0.6) ; np.@(k, 2, 5)
round around: np.@(m, 2) ; np.@(m)
fix: np.@(m)
nan_to_num: np.@(n)
diff: np.@(x) ; np.@(m, axis=0)
ediff1d: np.@(x)
gradient: np.@(x) ; np.@(m)
trapezoid: np.@(x) ; np.@(y, x)
cross: np.@(m[:, :3], m[:, 1:])
sinc i0: np.@(x)
unwrap: np.@(x * 9)
interp: np.@(x, [0.0, 1.0], [2.0, 5.0])
convolve correlate: np.@(x, y)
hamming hanning bartlett blackman: np.@(7)
kaiser: np.@(7, 2.0)
isneginf isposinf: np.@(n)
sort sort_complex: np.@(x) ; np.@(k)
argsort: np.@(x) ; np.@(m, axis=0)
partition: np.sort(np.@(x, 3)[:3])
argpartition: np.sort(x[np.@(x, 3)[:3]])
lexsort: np.@((x, k))
searchsorted: np.@(s, y)
digitize: np.@(x, [0.2, 0.4, 0.8])
bincount: np.@(k) ; np.@(k, weights=x)
histogram histogram_bin_edges: np.@(x, 4)
histogram2d: np.@(x, y, 3)
histogramdd: np.@((x, y), 3)
unique: np.@(k) ; np.@(k, return_counts=True)
unique_all unique_counts unique_inverse: tuple(np.@(k))
unique_values: np.sort(np.@(k))
intersect1d setdiff1d setxor1d union1d: np.@(k, l)
isin: np.@(k, l)
dot inner vdot: np.@(x, y) ; np.@(m, m[0]) if '@' == 'dot' else np.@(m, m)
outer kron: np.@(x, y)
tensordot: np.@(c, c, axes=([0, 1], [0, 1]))
einsum: np.@('ij,jk->ik', m, q) ; np.@('ii', q) ; np.@('ij->j', m) ; np.@('i,i', x, y)
einsum_path: np.@('ij,jk->ik', m, q)[0]
poly: np.@([1.0, 2.0])
polyadd polysub polymul polydiv: np.@([1.0, 2.0, 1.0], [1.0, 3.0])
polyder polyint: np.@([1.0, 2.0, 3.0])
polyfit: np.@(x, y, 2)
polyval: np.@([1.0, 2.0], x)
roots: np.@([1.0, -3.0, 2.0])
packbits unpackbits: np.@(u)
can_cast: np.@(np.int32, np.int64)
promote_types result_type: np.@(np.int32, np.float32)
min_scalar_type: np.@(300)
common_type: np.@(x, f)
mintypecode: np.@('fd')
isdtype issubdtype: np.@(np.dtype('f8').type, np.floating if '@' == 'issubdtype' else 'real floating')
typename: np.@('d')
isfortran: np.@(m)
may_share_memory shares_memory: np.@(x, x[2:])
array2string array_repr array_str: np.@(m)
base_repr binary_repr: np.@(9)
format_float_positional format_float_scientific: np.@(0.1)
get_printoptions: sorted(np.@())
set_printoptions: np.@()
printoptions: type(np.@()).__name__
geterr: np.@()
seterr: np.@()
geterrcall getbufsize: np.@()
seterrcall: np.@(None)
setbufsize: np.@(8192)
get_include: type(np.@())
info: after(np.@(np.shape, output=io.StringIO()), 0)
show_config show_runtime test: callable(np.@)
datetime_as_string: np.@(d)
datetime_data: np.@(np.dtype('M8[3D]'))
busday_count: np.@(d[0], d[1])
busday_offset: np.@(d[1], 2)
is_busday: np.@(d)
frombuffer: np.@(b'abcdefgh', dtype='u1')
fromiter: np.@((v * 2 for v in range(4)), dtype=float)
fromstring: np.@('1 2 3', sep=' ')
fromregex: np.@(io.StringIO('1 a'), r'(\\d+) (\\w)', [('n', int), ('s', 'U1')])
loadtxt genfromtxt: np.@(io.StringIO('1 2'))
from_dlpack: np.@(x)
frompyfunc: np.@(lambda v: v + 1, 1, 1)(k)
fromfile load: np.@('/no such file')
save: (lambda file: (np.save(file, x), file.seek(0), np.load(file))[-1])(io.BytesIO())
savetxt: (lambda file: (np.savetxt(file, x), file.getvalue())[-1])(io.StringIO())
savez savez_compressed: (lambda file: (np.@(file, x=x), file.seek(0), np.load(file)['x'])[-1])(io.BytesIO())
nested_iters: len(np.@(m, [[0], [1]]))
require: np.@(m, requirements='F')
"""

LINALG = """
cholesky det inv pinv eigvalsh svdvals matrix_rank cond: np.linalg.@(q)
eigvals: np.sort(np.linalg.@(q).real)
slogdet: tuple(np.linalg.@(q))
eig eigh: np.sort(np.linalg.@(q)[0].real)
qr: np.abs(np.linalg.@(m)[1])
svd: np.linalg.@(m)[1]
solve: np.linalg.@(q, m.T)
lstsq: np.linalg.@(q, m[0])[0]
norm: np.linalg.@(m) ; np.linalg.@(x) ; np.linalg.@(m, axis=1) ; np.linalg.@(m, 2)
matrix_norm: np.linalg.@(m)
vector_norm: np.linalg.@(x)
matrix_power: np.linalg.@(q, 3)
multi_dot: np.linalg.@([m, q, q])
cross: np.linalg.@(m[:, :3], m[:, 1:])
diagonal trace matrix_transpose: np.linalg.@(q)
matmul: np.linalg.@(m, q)
outer vecdot: np.linalg.@(x, y)
tensordot: np.linalg.@(m, q, axes=1)
tensorinv: np.linalg.@(q.reshape(4, 2, 2), ind=1)
tensorsolve: np.linalg.@(q.reshape(2, 2, 2, 2), m[:2, :2])
test: callable(np.linalg.@)
"""

FFT = """
fft ifft rfft ihfft hfft irfft: np.fft.@(x)
fft2 ifft2 fftn ifftn rfft2 rfftn irfft2 irfftn: np.fft.@(m)
fftfreq rfftfreq: np.fft.@(8, 0.5)
fftshift ifftshift: np.fft.@(m)
test: callable(np.fft.@)
"""

_DRAWS = """
standard_normal standard_exponential standard_cauchy exponential laplace logistic gumbel rayleigh normal uniform lognormal: ?.@(size=5)
beta: ?.@(2.0, 3.0, 5)
binomial: ?.@(9, 0.4, 5)
chisquare: ?.@(3.0, 5)
dirichlet: ?.@([1.0, 2.0], 3)
f: ?.@(3.0, 4.0, 5)
gamma: ?.@(2.0, 1.5, 5)
geometric logseries: ?.@(0.4, 5)
hypergeometric: ?.@(5, 6, 4, 5)
multinomial: ?.@(9, [0.2, 0.8], 3)
multivariate_normal: ?.@([0.0, 1.0], [[1.0, 0.2], [0.2, 1.0]], 3)
negative_binomial: ?.@(5, 0.4, 5)
noncentral_chisquare: ?.@(3.0, 1.0, 5)
noncentral_f: ?.@(3.0, 4.0, 1.0, 5)
pareto power standard_gamma standard_t weibull zipf: ?.@(2.5, 5)
poisson: ?.@(3.0, 5)
triangular: ?.@(0.0, 0.5, 1.0, 5)
vonmises wald: ?.@(1.0, 2.0, 5)
bytes: ?.@(5)
permutation: ?.@(6) ; ?.@(x)
shuffle: after(?.@(w), w)
choice: ?.@(9, 4) ; ?.@(x, 3, replace=False)
"""

_LEGACY = """
rand randn: ?.@(2, 3)
randint: ?.@(0, 9, 5)
random random_sample: ?.@(5)
random_integers: ?.@(3, size=4)
seed: ?.@(3)
get_state: ?.@()[0]
set_state: ?.@(?.get_state())
"""

RANDOM = (
    (_DRAWS + _LEGACY).replace("?", "np.random")
    + """
ranf sample: np.random.@(3)
default_rng: np.random.@(5).random(3)
get_bit_generator: type(np.random.@()).__name__
set_bit_generator test: callable(np.random.@)
"""
)

GENERATOR = (
    _DRAWS.replace("?", "g")
    + """
integers: g.@(0, 9, 5)
random: g.@(5) ; g.@(5, dtype=np.float32)
permuted: g.@(x)
multivariate_hypergeometric: g.@([3, 5], 4, 3)
spawn: len(g.@(2))
bit_generator: type(g.@).__name__
"""
)

RANDOM_STATE = (_DRAWS + _LEGACY).replace("?", "r") + "tomaxint: type(r.@())\n"

NDARRAY = """
T mT real imag shape size strides ndim dtype itemsize nbytes device: m.@
base: m[1:].@ is m
data: m.@.tolist()
flat: list(m.@)
flags: m.@.c_contiguous
ctypes: type(m.@).__name__
sum prod max min any all mean var std cumsum cumprod argmax argmin: m.@() ; m.@(axis=0)
argsort: m.@(axis=0)
sort: after(w.@(), w)
partition: after(w.@(3), np.sort(w[:3]))
argpartition: np.sort(x[x.@(3)[:3]])
astype: m.@(np.float32) ; m.@(int)
byteswap: k.@()
choose: (k % 2).@([x, y])
clip: x.@(0.2, 0.5)
compress: x.@(b)
conj conjugate: z.@()
copy flatten ravel tolist diagonal trace nonzero squeeze transpose: m.@()
tobytes: m.@()
dot: m.@(q)
dump: m.@('/no such folder/file')
dumps: type(m.@())
tofile: m.@('/no such folder/file')
fill: after(w.@(2.0), w)
getfield: z.@(np.float64, 8)
setfield: after(w.@(1.0, np.float64), w)
item: x.@(3)
put: after(w.@([0], 9.0), w)
repeat: x.@(2)
reshape: m.@(4, 3) ; m.@(5, 5)
resize: after(np.array([1, 2, 3]).@(0), 0)
round: m.@(1)
searchsorted: s.@(y)
setflags: after(w.@(write=False), w.flags.writeable)
swapaxes: c.@(0, 1)
take: x.@([0, 2])
to_device: m.@('cpu')
view: k.@() ; k.@(np.uint64)
"""

RECORDS = {
    "numpy": NUMPY, "numpy.linalg": LINALG, "numpy.fft": FFT, "numpy.random": RANDOM,
    "numpy.random.Generator": GENERATOR, "numpy.random.RandomState": RANDOM_STATE, "numpy.ndarray": NDARRAY,
}  # fmt: skip


def calls(module):
    """Return the calls of each recorded name of a module."""
    table = {}
    for line in RECORDS[module].strip().splitlines():
        names, _, examples = line.partition(": ")
        for name in names.split():
            if name in table:
                raise ValueError(f"{module}.{name} has two records")
            table[name] = [part.strip().replace("@", name) for part in examples.split(" ; ")]
    return table
