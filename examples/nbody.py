"""A cluster of stars under its own gravity: all pairs, leapfrog integration, softened forces."""

import argparse
import time

import numpy as np

SOFTENING = 0.05


def cluster(count, seed):
    """Return masses (count,), positions (3, count) and velocities (3, count) of a slowly turning ball."""
    rng = np.random.default_rng(seed)
    mass = rng.uniform(0.5, 1.5, count) / count
    radius = rng.random(count) ** (1.0 / 3.0)
    direction = rng.standard_normal((3, count))
    position = radius * direction / np.sqrt(np.sum(direction**2, axis=0))
    velocity = np.stack([-0.5 * position[1], 0.5 * position[0], np.zeros(count)])
    return mass, position, velocity


def differences(position):
    """Return dx, dy, dz and the softened squared distance between all pairs, each (count, count)."""
    dx, dy, dz = (p[None, :] - p[:, None] for p in position)
    return dx, dy, dz, dx**2 + dy**2 + dz**2 + SOFTENING**2


def acceleration(mass, position):
    """Return the acceleration (3, count) that every star feels from all others."""
    dx, dy, dz, square = differences(position)
    pull = mass[None, :] * square**-1.5
    return np.stack([np.sum(pull * d, axis=1) for d in (dx, dy, dz)])


def energy(mass, position, velocity):
    """Return the total energy: kinetic plus potential."""
    *_, square = differences(position)
    pairs = mass[None, :] * mass[:, None] / np.sqrt(square)
    potential = -0.5 * (np.sum(pairs) - np.sum(mass**2) / SOFTENING)
    return 0.5 * np.sum(mass * np.sum(velocity**2, axis=0)) + potential


def main():
    """Read the options, integrate, and report how well the energy was kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1500, help="number of stars")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--dt", type=float, default=0.01, help="time step")
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--save", metavar="FILE.npz", help="write the resulting arrays")
    options = parser.parse_args()

    start = time.perf_counter()
    mass, position, velocity = cluster(options.count, options.seed)
    before = energy(mass, position, velocity)
    force = acceleration(mass, position)
    for _ in range(options.steps):
        velocity += 0.5 * options.dt * force
        position += options.dt * velocity
        force = acceleration(mass, position)
        velocity += 0.5 * options.dt * force
    after = energy(mass, position, velocity)

    print(f"energy {before:.9f} before, {after:.9f} after: drift {abs(after / before - 1.0):.2e}")
    print(f"time: {time.perf_counter() - start:.4f} s")

    if options.save:
        np.savez(options.save, position=position, velocity=velocity, energy=np.array([before, after]))


if __name__ == "__main__":
    main()
