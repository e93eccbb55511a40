"""The Mandelbrot set: how many iterations each point of the plane needs to escape."""

import argparse
import time

import numpy as np


def escape_times(width, height, limit, center=(-0.6, 0.0), span=3.2):
    """Return an int32 array (height, width): iterations before |z| exceeds 2, at most `limit`."""
    step = span / width
    cx = (center[0] + step * (np.arange(width) - 0.5 * (width - 1)))[None, :]
    cy = (center[1] + step * (np.arange(height) - 0.5 * (height - 1)))[:, None]
    x = np.zeros((height, width))
    y = np.zeros((height, width))
    count = np.zeros((height, width), dtype=np.int32)
    for _ in range(limit):
        xx, yy = x * x, y * y
        inside = xx + yy <= 4.0
        count += inside
        # Escaped points stay where they are, so that nothing overflows.
        y = np.where(inside, 2.0 * x * y + cy, y)
        x = np.where(inside, xx - yy + cx, x)
    return count


def main():
    """Read the options, iterate, and report the area of the set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=1200, help="points along the real axis")
    parser.add_argument("--height", type=int, default=900, help="points along the imaginary axis")
    parser.add_argument("--limit", type=int, default=120, help="most iterations")
    parser.add_argument("--picture", metavar="FILE.png", help="write the escape times as a picture")
    parser.add_argument("--save", metavar="FILE.npz", help="write the resulting arrays")
    options = parser.parse_args()

    start = time.perf_counter()
    count = escape_times(options.width, options.height, options.limit)
    members = np.sum(count == options.limit)
    area = members * (3.2 / options.width) ** 2
    print(f"{members} of {count.size} points stay: area {area:.5f}, mean escape time {count.mean():.4f}")
    print(f"time: {time.perf_counter() - start:.4f} s")

    if options.picture:
        from picture import save_png

        save_png(options.picture, np.log(1.0 + count) * (count < options.limit))
    if options.save:
        np.savez(options.save, count=count)


if __name__ == "__main__":
    main()
