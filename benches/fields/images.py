"""Pictures, geometry and rendering."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def picture(n, seed=1):
    """A picture of smooth shapes and noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:n, :n] / n
    return np.clip(0.5 + 0.3 * np.sin(9 * x) * np.cos(7 * y) + rng.normal(0, 0.1, (n, n)), 0, 1)


def edges(n):
    """Sobel edges, thinned by a threshold and a median filter."""
    image = picture(n)

    def run():
        pad = np.pad(image, 1, mode="edge")
        gx = (
            pad[:-2, 2:] + 2 * pad[1:-1, 2:] + pad[2:, 2:] - pad[:-2, :-2] - 2 * pad[1:-1, :-2] - pad[2:, :-2]
        )
        gy = (
            pad[2:, :-2] + 2 * pad[2:, 1:-1] + pad[2:, 2:] - pad[:-2, :-2] - 2 * pad[:-2, 1:-1] - pad[:-2, 2:]
        )
        size = np.hypot(gx, gy)
        angle = np.round(np.arctan2(gy, gx) / (np.pi / 4)).astype(int) % 4
        smooth = np.median(sliding_window_view(size, (3, 3)), axis=(-2, -1))
        return [smooth > smooth.mean(), np.bincount(angle.ravel(), minlength=4)]

    return run


def components(n):
    """Label the connected parts of a mask by spreading the smallest label."""
    mask = picture(n, 2) > 0.55

    def run():
        labels = np.where(mask, np.arange(1, mask.size + 1).reshape(mask.shape), 0)
        while True:
            pad = np.pad(labels, 1)
            far = np.maximum.reduce(
                [pad[1:-1, 1:-1], pad[:-2, 1:-1], pad[2:, 1:-1], pad[1:-1, :-2], pad[1:-1, 2:]]
            )
            new = np.where(mask, far, 0)
            if np.array_equal(new, labels):
                break
            labels = new
        names, sizes = np.unique(labels[mask], return_counts=True)
        return [labels, names.size, sizes.max()]

    return run


def hough(n):
    """Find lines by votes."""
    image = picture(n, 3) > 0.8

    def run():
        y, x = np.nonzero(image)
        angles = np.deg2rad(np.arange(-90, 90, 3))
        longest = int(np.ceil(np.hypot(*image.shape)))
        votes = np.zeros((2 * longest, len(angles)), dtype=np.int64)
        for j, (c, s) in enumerate(zip(np.cos(angles), np.sin(angles), strict=True)):
            distance = np.round(x * c + y * s).astype(int) + longest
            votes[:, j] = np.bincount(distance, minlength=2 * longest)
        best = np.unravel_index(votes.argmax(), votes.shape)
        return [votes, best[0] - longest, float(angles[best[1]])]

    return run


def morphology(n):
    """Open and close a mask with a cross, and count what changed."""
    mask = picture(n, 4) > 0.5
    cross = [(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0)]

    def erode(a):
        return np.logical_and.reduce([np.roll(a, shift, axis=(0, 1)) for shift in cross])

    def dilate(a):
        out = np.zeros_like(a)
        for shift in cross:
            out |= np.roll(a, shift, axis=(0, 1))
        return out

    def run():
        clean = erode(dilate(dilate(erode(mask))))
        return [clean, int((clean ^ mask).sum()), clean.sum(axis=0)]

    return run


def colours(n):
    """Turn RGB into HSV, shift the hue, and balance the histogram of the value."""
    rng = np.random.default_rng(5)
    image = rng.integers(0, 256, (n, n, 3), dtype=np.uint8)

    def run():
        rgb = image / 255.0
        high, low = rgb.max(-1), rgb.min(-1)
        span = np.where(high > low, high - low, 1.0)
        r, g, b = np.moveaxis(rgb, -1, 0)
        hue = (
            np.select([high == r, high == g], [(g - b) / span % 6, (b - r) / span + 2], (r - g) / span + 4)
            / 6
        )
        saturation = np.divide(high - low, high, out=np.zeros_like(high), where=high > 0)
        counts, _ = np.histogram(high, bins=64, range=(0, 1))
        levels = counts.cumsum() / high.size
        value = np.interp(high, np.linspace(0, 1, 64), levels)
        sector = ((hue + 0.1) * 6).astype(int) % 6
        p, q = value * (1 - saturation), value * (1 - saturation / 2)
        red = np.choose(sector, [value, q, p, p, q, value])
        return [(red * 255).astype(np.uint8), hue.mean()]

    return run


def dither(n):
    """Floyd-Steinberg dithering, pixel by pixel."""
    image, spread = picture(n, 6), np.array([3, 5, 1]) / 16

    def run():
        out = image.copy()
        rows, columns = out.shape
        for y in range(rows):
            for x in range(columns):
                old = out[y, x]
                new = np.round(old)
                out[y, x] = new
                error = old - new
                if x + 1 < columns:
                    out[y, x + 1] += error * 7 / 16
                if y + 1 < rows:
                    first, last = max(x - 1, 0), min(x + 2, columns)
                    out[y + 1, first:last] += error * spread[first - x + 1 : last - x + 1]
        return out.astype(np.uint8)

    return run


def perlin(n):
    """Noise of several octaves."""
    table = np.random.default_rng(7).permutation(256)
    table = np.concatenate([table, table])
    gradients = np.array([[1, 1], [-1, 1], [1, -1], [-1, -1], [1, 0], [-1, 0], [0, 1], [0, -1]], float)

    def corner(ix, iy, fx, fy):
        g = gradients[table[table[ix & 255] + (iy & 255)] % 8]
        return g[..., 0] * fx + g[..., 1] * fy

    def noise(x, y):
        ix, iy = np.floor(x).astype(int), np.floor(y).astype(int)
        fx, fy = x - ix, y - iy
        u, v = fx * fx * fx * (fx * (fx * 6 - 15) + 10), fy * fy * fy * (fy * (fy * 6 - 15) + 10)
        top = corner(ix, iy, fx, fy) * (1 - u) + corner(ix + 1, iy, fx - 1, fy) * u
        low = corner(ix, iy + 1, fx, fy - 1) * (1 - u) + corner(ix + 1, iy + 1, fx - 1, fy - 1) * u
        return top * (1 - v) + low * v

    def run():
        x, y = np.meshgrid(np.linspace(0, 4, n, endpoint=False), np.linspace(0, 4, n, endpoint=False))
        return sum(noise(x * 2**k, y * 2**k) / 2**k for k in range(4))

    return run


def quaternions(n):
    """Turn a body of points step by step by quaternions, and keep them normal."""
    rng = np.random.default_rng(8)
    points = rng.normal(size=(n, 3))

    def product(a, b):
        w, x, y, z = a
        return np.array(
            [
                w * b[0] - x * b[1] - y * b[2] - z * b[3],
                w * b[1] + x * b[0] + y * b[3] - z * b[2],
                w * b[2] - x * b[3] + y * b[0] + z * b[1],
                w * b[3] + x * b[2] - y * b[1] + z * b[0],
            ]
        )

    def rotate(q, v):
        t = 2 * np.cross(q[1:], v)
        return v + q[0] * t + np.cross(q[1:], t)

    def run():
        q = np.array([1.0, 0.0, 0.0, 0.0])
        spin = np.array([0.0, 0.1, 0.2, -0.05])
        body = points
        for _ in range(10):
            q = q + 0.5 * 0.1 * product(spin, q)
            q /= np.linalg.norm(q)
            body = rotate(q, body)
        return [q, body]

    return run


def normals(n):
    """Normals, areas and volume of a mesh of triangles over a grid."""
    rng = np.random.default_rng(9)
    y, x = np.mgrid[:n, :n]
    vertices = np.stack([x, y, rng.random((n, n))], axis=-1).reshape(-1, 3).astype(float)
    corner = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    faces = np.concatenate(
        [np.c_[corner, corner + 1, corner + n], np.c_[corner + 1, corner + n + 1, corner + n]]
    )

    def run():
        a, b, c = (vertices[faces[:, k]] for k in range(3))
        cross = np.cross(b - a, c - a)
        area = np.linalg.norm(cross, axis=1) / 2
        smooth = np.zeros_like(vertices)
        for k in range(3):
            np.add.at(smooth, faces[:, k], cross)
        smooth /= np.linalg.norm(smooth, axis=1, keepdims=True)
        volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6
        return [smooth, area.sum(), volume]

    return run


def spheres(n):
    """Trace rays from a camera to a few spheres, with shadows left out."""
    rng = np.random.default_rng(10)
    centres, radii = rng.uniform([-1, -1, 3], [1, 1, 5], (6, 3)), rng.uniform(0.2, 0.6, 6)
    light = np.array([1.0, 1.0, -1.0]) / np.sqrt(3)

    def run():
        x, y = np.meshgrid(np.linspace(-0.5, 0.5, n), np.linspace(-0.5, 0.5, n))
        rays = np.stack([x, y, np.ones_like(x)], axis=-1)
        rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
        nearest, shade = np.full(x.shape, np.inf), np.zeros(x.shape)
        for centre, radius in zip(centres, radii, strict=True):
            b = rays @ centre
            under = b * b - (centre @ centre - radius**2)
            hit = under > 0
            distance = b[hit] - np.sqrt(under[hit])
            normal = (rays[hit] * distance[:, None] - centre) / radius
            closer = distance < nearest[hit]
            shade[hit] = np.where(closer, np.maximum(normal @ light, 0), shade[hit])
            nearest[hit] = np.minimum(distance, nearest[hit])
        return shade

    return run


PROGRAMS = {
    edges: (16, 400),
    components: (20, 250),
    hough: (24, 1500),
    morphology: (24, 2500),
    colours: (24, 500),
    dither: (12, 120),
    perlin: (20, 400),
    quaternions: (20, 150_000),
    normals: (12, 300),
    spheres: (16, 700),
}
