"""Turn a 2-D field into a colour PNG."""

import numpy as np
from PIL import Image

# Colours from cold to hot, equally spaced: deep blue, violet, red, orange, yellow, white.
STOPS = np.array(
    [(13, 8, 64), (84, 20, 130), (186, 54, 85), (243, 120, 25), (252, 210, 80), (255, 255, 245)],
    dtype=np.float64,
)


def colours(field):
    """Map a 2-D field linearly onto the colour stops; returns an (h, w, 3) array of uint8."""
    low, high = field.min(), field.max()
    scaled = (field - low) / max(float(high - low), 1e-300)
    positions = np.linspace(0.0, 1.0, len(STOPS))
    channels = [np.interp(scaled, positions, STOPS[:, i]) for i in range(3)]
    return np.stack(channels, axis=-1).round().astype(np.uint8)


def save_png(path, field):
    """Write `field` as a PNG, its first row at the top."""
    Image.fromarray(np.ascontiguousarray(colours(field))).save(path)
