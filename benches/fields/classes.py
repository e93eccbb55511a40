"""Programs whose arrays are of classes of their own, derived from `np.ndarray`."""

import numpy as np


class Field(np.ndarray):
    """Values on a grid that carry its spacing and their name."""

    def __new__(cls, data, spacing=1.0, name=""):
        """View an array as one."""
        self = np.asarray(data).view(cls)
        self.spacing = spacing
        self.name = name
        return self

    def __array_finalize__(self, other):
        if other is None:
            return
        self.spacing = getattr(other, "spacing", 1.0)
        self.name = getattr(other, "name", "")

    def __array_wrap__(self, out, context=None, return_scalar=False):
        return np.ndarray.__array_wrap__(self, out, context, return_scalar)


class Length(np.ndarray):
    """Numbers with the power of metres that they are."""

    def __new__(cls, data, power=1):
        """View an array as one."""
        self = np.asarray(data, dtype=float).view(cls)
        self.power = power
        return self

    def __array_finalize__(self, other):
        self.power = getattr(other, "power", 1)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        powers = [getattr(x, "power", 0) for x in inputs]
        plain = [x.view(np.ndarray) if isinstance(x, Length) else x for x in inputs]
        if out is not None:
            kwargs["out"] = tuple(x.view(np.ndarray) if isinstance(x, Length) else x for x in out)
        result = getattr(ufunc, method)(*plain, **kwargs)
        if ufunc in (np.greater, np.less, np.equal) or not isinstance(result, np.ndarray):
            return result
        if ufunc is np.multiply:
            power = sum(powers)
        elif ufunc in (np.divide, np.true_divide):
            power = powers[0] - powers[1]
        elif ufunc is np.sqrt:
            power = powers[0] / 2
        else:
            power = powers[0]
        made = result.view(Length)
        made.power = power
        return made


def hydrodynamics(n):
    """A shock tube: the Euler equations of a gas, by the fluxes of Harten, Lax and van Leer."""
    gamma, steps = 1.4, 20
    x = (np.arange(n) + 0.5) / n

    def run():
        density = Field(np.where(x < 0.5, 1.0, 0.125), 1.0 / n, "density")
        pressure = Field(np.where(x < 0.5, 1.0, 0.1), 1.0 / n, "pressure")
        momentum = Field(np.zeros(n), 1.0 / n, "momentum")
        energy = pressure / (gamma - 1) + 0.5 * momentum**2 / density
        for _ in range(steps):
            speed = momentum / density
            pressure = (gamma - 1) * (energy - 0.5 * density * speed**2)
            sound = np.sqrt(gamma * pressure / density)
            step = 0.4 * density.spacing / np.max(np.abs(speed) + sound)
            left = np.minimum(speed[:-1] - sound[:-1], speed[1:] - sound[1:])
            right = np.maximum(speed[:-1] + sound[:-1], speed[1:] + sound[1:])
            left, right = np.minimum(left, 0.0), np.maximum(right, 0.0)
            states = (density, momentum, energy)
            fluxes = (momentum, momentum * speed + pressure, (energy + pressure) * speed)
            for state, flux in zip(states, fluxes, strict=True):
                between = right * flux[:-1] - left * flux[1:] + left * right * (state[1:] - state[:-1])
                between = between / (right - left)
                state[1:-1] -= step / state.spacing * (between[1:] - between[:-1])
        return [np.asarray(density), np.asarray(speed), pressure.spacing, float(energy.sum())]

    return run


def diffusion(n):
    """Heat in a plate with periodic edges, and its mean, extremes and gradient."""
    rng = np.random.default_rng(2)
    start = rng.random((n, n))

    def run():
        heat = Field(start.copy(), 1.0 / n, "heat")
        source = np.zeros((n, n))
        source[n // 4 : n // 2, n // 4 : n // 2] = 1e-3
        for _ in range(10):
            around = np.roll(heat, 1, 0) + np.roll(heat, -1, 0) + np.roll(heat, 1, 1) + np.roll(heat, -1, 1)
            heat = heat + 0.2 * (around - 4 * heat) + source
            heat[0] = heat[-1] = 0.0
        slope = np.zeros_like(heat)
        slope[:, 1:-1] = (heat[:, 2:] - heat[:, :-2]) / (2 * heat.spacing)
        warm = np.asarray(heat)[heat > 0.5]
        return [
            heat.view(np.ndarray),
            float(np.mean(heat)),
            float(heat.max()),
            np.abs(slope).max(),
            warm.sum(),
        ]

    return run


def lengths(n):
    """Triangles by their sides, with units that are checked by every operation."""
    rng = np.random.default_rng(3)
    sides = [rng.uniform(1.0, 2.0, n) for _ in range(3)]

    def run():
        a, b, c = (Length(side) for side in sides)
        half = (a + b + c) * 0.5
        area = np.sqrt(half * (half - a) * (half - b) * (half - c))
        height = 2 * area / c
        radius = a * b * c / (4 * area)
        assert (area.power, height.power, radius.power) == (2, 1, 1)
        large = area > 0.8
        return [
            area.view(np.ndarray),
            np.asarray(height),
            np.asarray(radius),
            float(np.sum(area)),
            large.sum(),
        ]

    return run


PROGRAMS = {
    hydrodynamics: (200, 100_000),
    diffusion: (24, 700),
    lengths: (200, 500_000),
}
