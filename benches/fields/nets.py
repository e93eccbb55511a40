"""Neural networks of few numbers: one trained by a library that traces operations, and a convolutional one.

The second size of each program is also a number of steps; the arrays never become larger.
"""

import numpy as np


class Box:
    """An array that remembers which function made it from which arguments, to propagate gradients back."""

    __array_priority__ = 100.0

    def __init__(self, value, parents=()):
        self.value = value
        self.parents = parents

    @property
    def shape(self):
        """Extents of the value."""
        return self.value.shape

    @property
    def T(self):
        """The value, transposed."""
        return apply("transpose", self)

    def __add__(self, other):
        return apply("add", self, other)

    def __radd__(self, other):
        return apply("add", other, self)

    def __sub__(self, other):
        return apply("subtract", self, other)

    def __rsub__(self, other):
        return apply("subtract", other, self)

    def __mul__(self, other):
        return apply("multiply", self, other)

    def __rmul__(self, other):
        return apply("multiply", other, self)

    def __neg__(self):
        return apply("negative", self)

    def __getitem__(self, key):
        return apply("getitem", self, key=key)


def unbroadcast(gradient, target):
    """Sum a gradient over the axes that were broadcast."""
    shape = np.shape(target)
    while np.ndim(gradient) > len(shape):
        gradient = np.sum(gradient, axis=0)
    for axis, size in enumerate(shape):
        if size == 1:
            gradient = np.sum(gradient, axis=axis, keepdims=True)
    return gradient


def put_back(gradient, target, key):
    """Put the gradient of selected elements back into their places."""
    out = np.zeros(np.shape(target))
    np.add.at(out, key, gradient)
    return out


def joined_back(gradient, number, parts):
    """Cut the gradient of one part out."""
    start = sum(np.shape(part)[-1] for part in parts[:number])
    return gradient[..., start : start + np.shape(parts[number])[-1]]


FORWARD = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "negative": lambda a: -a,
    "dot": lambda a, b: np.dot(a, b),
    "tanh": lambda a: np.tanh(a),
    "exp": lambda a: np.exp(a),
    "log": lambda a: np.log(a),
    "sum": lambda a, axis=None, keepdims=False: np.sum(a, axis=axis, keepdims=keepdims),
    "transpose": lambda a: np.transpose(a),
    "getitem": lambda a, key: a[key],
    "join": lambda *parts: np.concatenate(parts, axis=-1),
}

BACK = {
    "add": [lambda g, r, a, b: unbroadcast(g, a), lambda g, r, a, b: unbroadcast(g, b)],
    "subtract": [lambda g, r, a, b: unbroadcast(g, a), lambda g, r, a, b: unbroadcast(-g, b)],
    "multiply": [lambda g, r, a, b: unbroadcast(g * b, a), lambda g, r, a, b: unbroadcast(g * a, b)],
    "negative": [lambda g, r, a: -g],
    "dot": [lambda g, r, a, b: np.dot(g, b.T), lambda g, r, a, b: np.dot(a.T, g)],
    "tanh": [lambda g, r, a: g * (1 - r**2)],
    "exp": [lambda g, r, a: g * r],
    "log": [lambda g, r, a: g / a],
    "sum": [
        lambda g, r, a, axis=None, keepdims=False: (
            np.zeros(np.shape(a)) + (g if axis is None or keepdims else np.expand_dims(g, axis))
        )
    ],
    "transpose": [lambda g, r, a: np.transpose(g)],
    "getitem": [lambda g, r, a, key: put_back(g, a, key)],
    "join": [lambda g, r, *p, at=at: joined_back(g, at, p) for at in range(3)],
}


def apply(name, *args, **kwargs):
    """Call a function on the values, and record how its gradient is propagated back."""
    boxed = [(at, arg) for at, arg in enumerate(args) if isinstance(arg, Box)]
    values = [arg.value if isinstance(arg, Box) else arg for arg in args]
    result = FORWARD[name](*values, **kwargs)
    if not boxed:
        return result
    return Box(result, [(arg, BACK[name][at], result, values, kwargs) for at, arg in boxed])


def gradient(function, parameters):
    """Return the value of a function and its gradients."""
    starts = [Box(p) for p in parameters]
    end = function(starts)
    order, seen, stack = [], set(), [(end, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((parent[0], False) for parent in node.parents)
    found = {id(end): np.ones(np.shape(end.value))}
    for node in reversed(order):
        g = found[id(node)] if node in starts else found.pop(id(node))
        for parent, back, result, values, kwargs in node.parents:
            part = back(g, result, *values, **kwargs)
            before = found.get(id(parent))
            found[id(parent)] = part if before is None else before + part
    return end.value, [found[id(start)] for start in starts]


def traced_recurrent_net(n):
    """A recurrent net that learns letters, with gradients by the tracing library above and steps of Adam."""
    states, letters, batch, length = 16, 8, 4, 6
    rng = np.random.default_rng(1)
    text = rng.integers(0, letters, (length + 1, batch))
    inputs = np.eye(letters)[text]

    def loss(parameters):
        start, change, b, out, c = parameters
        hidden = np.zeros((batch, 1)) + start
        total = 0.0
        for t in range(length):
            seen = np.ones((batch, 1))
            both = apply("join", inputs[t], hidden, seen)
            hidden = apply("tanh", apply("dot", both, change) + b)
            scores = apply("dot", hidden, out) + c
            top = apply("log", apply("sum", apply("exp", scores), axis=1, keepdims=True))
            total = total - apply("sum", (scores - top) * inputs[t + 1])
        return total * (1.0 / (length * batch))

    def run():
        draw = np.random.default_rng(2)
        parameters = [
            0.1 * draw.normal(size=shape)
            for shape in (
                (1, states),
                (letters + states + 1, states),
                (states,),
                (states, letters),
                (letters,),
            )
        ]
        m, v = [np.zeros_like(p) for p in parameters], [np.zeros_like(p) for p in parameters]
        losses = []
        for step in range(n):
            value, gradients = gradient(loss, parameters)
            losses.append(float(value))
            for k, g in enumerate(gradients):
                m[k] = 0.9 * m[k] + 0.1 * g
                v[k] = 0.999 * v[k] + 0.001 * g**2
                mhat = m[k] / (1 - 0.9 ** (step + 1))
                vhat = v[k] / (1 - 0.999 ** (step + 1))
                parameters[k] = parameters[k] - 0.01 * mhat / (np.sqrt(vhat) + 1e-8)
        return [np.array(losses), *parameters]

    return run


def small_convolutional_net(n):
    """A net of one convolution, a pooling and a layer, that learns pictures of 8 x 8, one after the other."""
    rng = np.random.default_rng(3)
    pictures, labels = rng.random((30, 8, 8)), rng.integers(0, 3, 30)

    def patches(picture):
        for i in range(6):
            for j in range(6):
                yield picture[i : i + 3, j : j + 3], i, j

    def convolved(picture, filters):
        out = np.zeros((6, 6, len(filters)))
        for patch, i, j in patches(picture):
            out[i, j] = np.sum(patch * filters, axis=(1, 2))
        return out

    def pooled(maps):
        out = np.zeros((3, 3, maps.shape[2]))
        for i in range(3):
            for j in range(3):
                out[i, j] = np.amax(maps[2 * i : 2 * i + 2, 2 * j : 2 * j + 2], axis=(0, 1))
        return out

    def unpooled(maps, g):
        back = np.zeros(maps.shape)
        for i in range(3):
            for j in range(3):
                region = maps[2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
                top = np.amax(region, axis=(0, 1))
                back[2 * i : 2 * i + 2, 2 * j : 2 * j + 2] = (region == top) * g[i, j]
        return back

    def run():
        draw = np.random.default_rng(4)
        filters = draw.normal(size=(4, 3, 3)) / 9
        weights, biases = draw.normal(size=(36, 3)) / 36, np.zeros(3)
        losses = []
        for step in range(n):
            picture, label = pictures[step % 30] - 0.5, labels[step % 30]
            maps = convolved(picture, filters)
            flat = pooled(maps).flatten()
            scores = np.dot(flat, weights) + biases
            exps = np.exp(scores - scores.max())
            chances = exps / np.sum(exps, axis=0)
            losses.append(-np.log(chances[label]))
            g = chances.copy()
            g[label] -= 1.0
            g_flat = weights @ g
            weights -= 0.05 * flat[np.newaxis].T @ g[np.newaxis]
            biases -= 0.05 * g
            g_maps = unpooled(maps, g_flat.reshape(3, 3, 4))
            g_filters = np.zeros(filters.shape)
            for patch, i, j in patches(picture):
                for f in range(4):
                    g_filters[f] += g_maps[i, j, f] * patch
            filters -= 0.05 * g_filters
        return [filters, weights, biases, np.array(losses)]

    return run


PROGRAMS = {
    traced_recurrent_net: (3, 100),
    small_convolutional_net: (3, 120),
}
