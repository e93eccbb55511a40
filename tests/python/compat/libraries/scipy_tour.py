"""A tour through SciPy."""

import numpy as np
from scipy import (
    cluster,
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    sparse,
    spatial,
    special,
    stats,
)

rng = np.random.default_rng(0)
optimize.minimize(optimize.rosen, np.zeros(3), jac=optimize.rosen_der, method="BFGS").x.round(4)
optimize.curve_fit(lambda x, a, b: a * np.exp(-b * x), np.linspace(0, 1, 9), np.exp(-np.linspace(0, 1, 9)))[
    0
].round(5)
optimize.root(lambda x: np.array([x[0] ** 2 - 2, x[1] - x[0]]), np.ones(2)).x.round(6)
optimize.linprog(np.array([-1, -2.0]), A_ub=np.array([[1, 1.0]]), b_ub=np.array([4.0])).fun
optimize.least_squares(lambda p: p - np.arange(3.0), np.zeros(3)).x
optimize.differential_evolution(lambda x: np.sum(x**2), [(-1, 1)] * 2, seed=0).fun < 1e-08
optimize.brentq(lambda x: np.cos(x), 1, 2)
optimize.nnls(np.eye(3), np.ones(3))[0]
optimize.minimize(
    lambda x: np.sum((x - 1) ** 2), np.zeros(2), constraints={"type": "eq", "fun": lambda x: x.sum() - 1}
).x.round(5)
optimize.linear_sum_assignment(rng.random((4, 4)))[1]
optimize.fsolve(lambda x: np.sin(x) - 0.5, np.array([0.3]))
optimize.minimize_scalar(lambda x: np.abs(x - 2)).x.__round__(4)
optimize.milp(np.ones(2), bounds=optimize.Bounds(np.zeros(2), np.ones(2))).fun
optimize.approx_fprime(np.ones(2), lambda x: np.sum(x**2)).round(4)
optimize.basinhopping(
    lambda x: np.cos(x[0]) + x[0] ** 2 * 0.1, np.array([1.0]), niter=3, seed=0
).fun.__round__(4)
integrate.quad(np.sin, 0, np.pi)[0]
integrate.solve_ivp(
    lambda t, y: np.array([y[1], -y[0]]), (0, 1), np.array([1.0, 0]), t_eval=np.linspace(0, 1, 3)
).y.round(5)
integrate.odeint(lambda y, t: -y, np.ones(2), np.linspace(0, 1, 3)).round(6)
integrate.simpson(np.arange(5.0) ** 2, x=np.arange(5.0))
integrate.cumulative_trapezoid(np.arange(5.0))
integrate.dblquad(lambda x, y: x * y, 0, 1, 0, 1)[0]
integrate.solve_bvp(
    lambda x, y: np.vstack((y[1], -y[0])),
    lambda a, b: np.array([a[0], b[0] - 1]),
    np.linspace(0, 1, 5),
    np.zeros((2, 5)),
).y[0].round(4)
integrate.quad_vec(lambda x: np.array([x, x**2]), 0, 1)[0]
integrate.nquad(lambda x, y: x + y, [(0, 1), (0, 1)])[0]
x = np.linspace(0, 5, 10)
interpolate.interp1d(x, np.sin(x), kind="cubic")(2.2)
interpolate.CubicSpline(x, np.sin(x))(x[:3] + 0.1)
interpolate.UnivariateSpline(x, np.sin(x))(1.0)
interpolate.griddata(rng.random((30, 2)), rng.random(30), np.array([[0.5, 0.5]]))
interpolate.RBFInterpolator(rng.random((10, 2)), rng.random(10))(np.array([[0.5, 0.5]]))
interpolate.RegularGridInterpolator((x, x), np.outer(x, x))(np.array([[1.0, 2.0]]))
interpolate.splrep(x, np.sin(x))[1][:3]
interpolate.PchipInterpolator(x, x**2)(1.5)
interpolate.make_interp_spline(x, np.sin(x))(1.0)
interpolate.BSpline(np.arange(8.0), np.ones(4), 3)(3.5)
interpolate.RectBivariateSpline(x, x, np.outer(x, x))(1.0, 2.0)
interpolate.Akima1DInterpolator(x, x)(2.0)
interpolate.LinearNDInterpolator(np.array([[0, 0], [1, 0], [0, 1.0]]), np.arange(3.0))(np.array([0.2, 0.2]))
s = rng.normal(size=200)
signal.butter(3, 0.2)[0]
signal.filtfilt(*signal.butter(3, 0.2), s).sum().round(6)
signal.welch(s, nperseg=64)[1].sum().round(6)
signal.find_peaks(s)[0][:4]
signal.convolve(s, np.ones(5) / 5, "same").sum().round(6)
signal.spectrogram(s, nperseg=32)[2].shape
signal.resample(s, 50).sum().round(5)
signal.savgol_filter(s, 7, 2).sum().round(6)
signal.hilbert(s).sum().round(5)
signal.lfilter([1], [1, -0.5], s).sum().round(5)
signal.sosfilt(signal.butter(4, 0.3, output="sos"), s).sum().round(5)
signal.stft(s, nperseg=32)[2].shape
signal.medfilt(s, 3).sum().round(5)
signal.correlate2d(np.eye(3), np.ones((2, 2))).sum()
signal.firwin(9, 0.3).round(5)
signal.detrend(s).sum().round(8) + 0.0
signal.decimate(s, 4).shape
signal.periodogram(s)[1].sum().round(4)
signal.coherence(s, s, nperseg=32)[1][:2]
signal.chirp(x, 1, 5, 2)[:2]
signal.lti([1], [1, 1]).step(T=x)[1][:3]
signal.czt(s[:8]).sum().round(5)
signal.argrelmax(s)[0][:3]
signal.upfirdn(np.ones(3), s, 2).sum().round(5)
signal.ShortTimeFFT(np.hanning(16), 4, 1.0).stft(s).shape
signal.lombscargle(x, np.sin(x), np.array([1.0, 2.0])).round(5)
p = rng.random((20, 2))
spatial.cKDTree(p).query(p[:2], 2)[1]
spatial.ConvexHull(p).volume.__round__(6)
spatial.Delaunay(p).simplices.shape
spatial.Voronoi(p).vertices.shape
spatial.distance.cdist(p, p).sum().round(6)
spatial.distance.pdist(p, "cityblock").sum().round(6)
spatial.distance.squareform(spatial.distance.pdist(p)).shape
spatial.transform.Rotation.from_euler("xyz", np.array([0.1, 0.2, 0.3])).apply(np.eye(3)).round(5)
spatial.procrustes(p, p * 2)[2].__round__(8)
spatial.KDTree(p).query_ball_point(p[0], 0.3)
spatial.distance.cosine(p[0], p[1])
spatial.geometric_slerp(np.array([1.0, 0]), np.array([0, 1.0]), np.linspace(0, 1, 3))
spatial.distance.directed_hausdorff(p, p)[0]
spatial.transform.Slerp(np.arange(2.0), spatial.transform.Rotation.from_rotvec(np.eye(3)[:2]))(
    np.array([0.5])
).as_quat().round(5)
spatial.SphericalVoronoi(
    np.array([[0, 0, 1], [0, 0, -1], [1, 0, 0], [0, 1, 0], [0, -1, 0], [-1, 0, 0.0]])
).calculate_areas().sum().round(5)
stats.ttest_ind(s[:100], s[100:])
stats.norm.pdf(x[:3])
stats.norm.fit(s)
stats.linregress(x, x * 2 + 1).slope
stats.spearmanr(s[:100], s[100:]).statistic
stats.gaussian_kde(s)(np.array([0.0]))
stats.chi2_contingency(np.array([[10, 20], [20, 10]]))[1]
stats.ks_2samp(s[:100], s[100:]).pvalue
stats.mode(np.array([1, 1, 2]))
stats.zscore(x)[:2]
stats.entropy(np.array([0.5, 0.5]))
stats.gamma.rvs(2, size=3, random_state=0)
stats.multivariate_normal(np.zeros(2), np.eye(2)).pdf(p[:2])
stats.bootstrap((s,), np.mean, n_resamples=50, rng=0).standard_error.round(5)
stats.kruskal(s[:50], s[50:]).statistic
stats.f_oneway(s[:50], s[50:100]).pvalue
stats.describe(s).variance
stats.iqr(s)
stats.rankdata(s)[:3]
stats.pearsonr(s[:100], s[100:])[0]
stats.mannwhitneyu(s[:100], s[100:])[1]
stats.shapiro(s)[0]
stats.binned_statistic(s, s, bins=4)[0]
stats.rv_histogram(np.histogram(s, bins=5)).mean()
stats.trim_mean(s, 0.1)
stats.boxcox(np.abs(s) + 1)[1]
stats.qmc.Sobol(2, seed=0).random(4).sum().round(4)
stats.permutation_test(
    (s[:20], s[20:40]),
    lambda a, b, axis: np.mean(a, axis=axis) - np.mean(b, axis=axis),
    n_resamples=50,
    vectorized=True,
    rng=0,
).pvalue
stats.wasserstein_distance(s[:100], s[100:])
stats.beta.ppf(np.array([0.1, 0.9]), 2, 3)
stats.poisson.pmf(np.arange(3), 2.0)
stats.theilslopes(x, x)[0]
stats.sem(s)
stats.kurtosis(s)
stats.moment(s, 3)
stats.percentileofscore(s, 0.0)
stats.weibull_min.fit(np.abs(s), floc=0)[0].__round__(5)
stats.dirichlet(np.ones(3)).mean()
stats.tmean(s)
stats.cumfreq(s, 4).cumcount
stats.ecdf(s).cdf.evaluate(0.0)
stats.rv_discrete(values=(np.arange(2), np.array([0.5, 0.5]))).mean()
stats.anderson_ksamp if 0 else 1
special.gamma(x[1:4])
special.jv(0, x[:3])
special.erf(x[:3])
special.comb(5, np.arange(3))
special.logsumexp(x)
special.softmax(x)[:2]
special.expit(x[:3])
special.legendre(3)(x[:3])
special.ellipk(0.5)
special.zeta(2.0)
special.sph_harm_y(1, 2, 0.1, 0.2)
special.factorial(np.arange(4))
special.xlogy(x, x)[:3]
special.roots_legendre(3)[0]
special.betainc(1, 2, 0.3)
special.airy(x[:2])[0]
special.kl_div(x[1:3], x[2:4])
special.ndtri(np.array([0.5, 0.9]))
special.digamma(x[1:3])
special.hyp2f1(1, 2, 3, x[:2] / 10)
special.binom(5, np.arange(3))
special.exp1(x[1:3])
special.lambertw(x[:2])
m = sparse.random(20, 20, 0.2, random_state=0, format="csr")
v = np.ones(20)
(m @ v).sum()
m.dot(m).sum().round(6)
sparse.linalg.spsolve(sparse.eye(20).tocsc() * 2, v)[:2]
sparse.linalg.eigsh(m + m.T, k=2, v0=np.ones(20))[0].round(4)
sparse.csr_matrix(np.eye(3)).toarray()
sparse.diags([np.ones(4), np.ones(3)], [0, 1]).toarray().sum()
sparse.coo_matrix((np.ones(3), (np.arange(3), np.arange(3)))).tocsr().sum()
m.multiply(v).sum().round(6)
m[np.array([1, 2])].shape
sparse.linalg.cg(sparse.eye(20) * 3, v)[0][:2]
sparse.kron(np.eye(2), np.ones((2, 2))).toarray().sum()
v @ m @ v
m.max()
m.mean(0).shape
sparse.csgraph.shortest_path(m)[0, :3]
sparse.csgraph.connected_components(m)[0]
sparse.linalg.LinearOperator((3, 3), matvec=lambda z: 2 * z) @ np.ones(3)
sparse.linalg.gmres(sparse.eye(20) * 3, v)[1]
sparse.hstack([m, m]).shape
sparse.linalg.svds(m, k=2, v0=np.ones(20))[1].round(4)
sparse.linalg.expm(sparse.eye(3).tocsc()).toarray()[0]
sparse.csgraph.minimum_spanning_tree(np.arange(9.0).reshape(3, 3)).toarray()
sparse.linalg.lsqr(m, v)[1]
sparse.dok_array((3, 3)).toarray()
sparse.lil_matrix(np.eye(2))[0, 0]
(m > 0.5).sum()
m.power(2).sum().round(5)
sparse.tril(np.ones((3, 3))).sum()
sparse.linalg.splu(sparse.eye(3).tocsc()).solve(np.ones(3))
sparse.linalg.norm(m).round(5)
sparse.bmat([[m, None], [None, m]]).shape
np.abs(m).sum().round(5)
m.A1 if 0 else 1
sparse.linalg.lobpcg(sparse.eye(20) * 2 + m + m.T, np.random.default_rng(0).random((20, 1)), maxiter=3)[
    0
].shape
sparse.csr_array(np.array([[1, 0], [0, 2]])) * np.array([1, 2])
a = rng.random((4, 4))
linalg.lu(a)[2][0].round(5)
linalg.expm(a).sum().round(5)
linalg.qr(a)[1][0].round(5)
linalg.eigh(a @ a.T)[0].round(5)
linalg.solve(a, v[:4]).round(4)
linalg.cholesky(a @ a.T + np.eye(4))[0].round(5)
linalg.svdvals(a).round(5)
linalg.toeplitz(v[:3])
linalg.block_diag(a, a).shape
linalg.null_space(np.ones((2, 2))).round(4)
linalg.sqrtm(a @ a.T).sum().round(4)
linalg.solve_banded((1, 1), np.ones((3, 4)) + np.array([[0], [2], [0]]), v[:4]).round(5)
linalg.schur(a)[0].trace().round(5)
linalg.pinv(a).sum().round(3)
linalg.lstsq(a, v[:4])[0].round(4)
linalg.lu_solve(linalg.lu_factor(a), v[:4]).round(4)
linalg.cho_solve(linalg.cho_factor(a @ a.T + np.eye(4)), v[:4]).round(5)
linalg.solve_triangular(a, v[:4]).round(4)
linalg.hadamard(4).sum()
linalg.blas.dgemm(1.0, a, a)[0].round(5)
linalg.logm(a @ a.T + np.eye(4)).sum().round(4)
linalg.orth(a).shape
linalg.polar(a)[1].trace().round(5)
linalg.solve_sylvester(a, a, np.eye(4)).shape
linalg.circulant(np.arange(3))
linalg.det(a).__round__(6)
linalg.norm(a, 2).round(5)
linalg.subspace_angles(a[:, :2], a[:, 2:]).round(5)
linalg.hankel(np.arange(3))
linalg.eig_banded(np.ones((2, 4)))[0].round(5)
linalg.solve_toeplitz(np.array([2.0, 1, 0]), np.ones(3))
linalg.interpolative.interp_decomp(a, 2)[0].shape if 0 else 1
im = rng.random((16, 16))
fft.fft(s)[:2].round(5)
fft.dct(x)[:2].round(5)
fft.rfft2(im).sum().round(4)
fft.next_fast_len(97)
ndimage.gaussian_filter(im, 1).sum().round(5)
ndimage.label(im > 0.5)[1]
ndimage.zoom(im, 2).shape
ndimage.distance_transform_edt(im > 0.3).sum().round(5)
ndimage.center_of_mass(im)
ndimage.map_coordinates(im, np.array([[1.5], [2.5]]))
ndimage.convolve(im, np.ones((3, 3))).sum().round(4)
ndimage.generic_filter(im, np.mean, 3).sum().round(5)
ndimage.sobel(im).sum().round(5)
ndimage.find_objects(ndimage.label(im > 0.7)[0])[0]
ndimage.maximum_filter(im, 3).sum().round(5)
ndimage.affine_transform(im, np.eye(2)).sum().round(5)
ndimage.binary_fill_holes(im > 0.5).sum()
ndimage.sum_labels(im, ndimage.label(im > 0.5)[0], np.arange(1, 3))
ndimage.rotate(im, 30).shape
ndimage.shift(im, 0.5).sum().round(4)
ndimage.percentile_filter(im, 50, 3).sum().round(4)
cluster.hierarchy.linkage(p, "ward")[-1]
cluster.vq.kmeans2(p, 2, seed=0)[1][:5]
cluster.hierarchy.fcluster(cluster.hierarchy.linkage(p), 2, "maxclust")
cluster.vq.whiten(p)[0]
fft.ifftn(fft.fftn(im)).real.sum().round(5)
fft.fftshift(x)[:2]
fft.fht(x, 0.1, 0.0)[0].round(4)
ndimage.watershed_ift((im * 255).astype(np.uint8), ndimage.label(im > 0.9)[0]).sum()
ndimage.histogram(im, 0, 1, 4)
ndimage.spline_filter(im).sum().round(4)
ndimage.uniform_filter1d(x, 3).sum()
ndimage.generic_filter1d(im, lambda i, o: np.copyto(o, i[1:-1]), 3).sum().round(4)
import io

from scipy.io import loadmat, savemat, wavfile

b = io.BytesIO()
wavfile.write(b, 8000, (s * 1000).astype(np.int16))
b.seek(0)
wavfile.read(b)[1].sum()
b = io.BytesIO()
savemat(b, {"a": a, "s": np.array(["x", "y"])})
b.seek(0)
loadmat(b)["a"].sum().round(6)
