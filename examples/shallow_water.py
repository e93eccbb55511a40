"""Waves in a square basin: the shallow water equations, two-step Lax-Wendroff scheme.

The state is the water's depth h and the two momenta hu and hv on an (n+2) x (n+2) grid. The outermost
ring of cells mirrors the cells next to it, with the momentum across the wall turned round: solid walls.
"""

import argparse
import time

import numpy as np

GRAVITY = 9.81


def walls(h, hu, hv):
    """Fill the outer ring of cells so that waves bounce off the four walls."""
    for field, sign_x, sign_y in ((h, 1.0, 1.0), (hu, -1.0, 1.0), (hv, 1.0, -1.0)):
        field[0, :] = sign_x * field[1, :]
        field[-1, :] = sign_x * field[-2, :]
        field[:, 0] = sign_y * field[:, 1]
        field[:, -1] = sign_y * field[:, -2]


def flux(h, along, across):
    """Flux of depth, of the momentum along the direction of flow, and of the momentum across it."""
    speed = along / h
    return along, along * speed + 0.5 * GRAVITY * h * h, across * speed


def half_step(state, ratio):
    """Advance (h, along, across) by half a step to the middle of neighbouring rows."""
    fluxes = flux(*state)
    return [
        0.5 * (q[1:, :] + q[:-1, :]) - 0.5 * ratio * (f[1:, :] - f[:-1, :])
        for q, f in zip(state, fluxes, strict=True)
    ]


def step(h, hu, hv, ratio):
    """Advance the state in place by one time step; `ratio` is time step over cell size."""
    walls(h, hu, hv)
    # The same half step serves both directions: the second works on transposed views.
    x_half = half_step([q[:, 1:-1] for q in (h, hu, hv)], ratio)
    y_half = half_step([q[1:-1, :].T for q in (h, hv, hu)], ratio)
    fx_h, fx_u, fx_v = flux(*x_half)
    fy_h, fy_v, fy_u = (f.T for f in flux(*y_half))
    for q, fx, fy in ((h, fx_h, fy_h), (hu, fx_u, fy_u), (hv, fx_v, fy_v)):
        q[1:-1, 1:-1] -= ratio * (fx[1:, :] - fx[:-1, :]) + ratio * (fy[:, 1:] - fy[:, :-1])


def main():
    """Read the options, let a column of water collapse, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=400, help="cells along one side of the basin")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--save", metavar="FILE.npz", help="write the resulting arrays")
    options = parser.parse_args()
    n = options.size

    start = time.perf_counter()
    position = (np.arange(n + 2) - 0.5) / n
    distance = (position[:, None] - 0.35) ** 2 + (position[None, :] - 0.4) ** 2
    h = 1.0 + 0.5 * np.exp(-60.0 * distance)
    hu, hv = np.zeros_like(h), np.zeros_like(h)
    volume = h[1:-1, 1:-1].sum()
    for _ in range(options.steps):
        step(h, hu, hv, ratio=0.15)

    inner = h[1:-1, 1:-1]
    print(
        f"depth {inner.min():.6f} to {inner.max():.6f}, volume {volume:.6f} before, {inner.sum():.6f} after"
    )
    print(f"time: {time.perf_counter() - start:.4f} s")

    if options.save:
        np.savez(options.save, h=h, hu=hu, hv=hv)


if __name__ == "__main__":
    main()
