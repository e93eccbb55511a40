"""Signals and filters."""

import numpy as np


def filters(n):
    """A windowed sinc filter by convolution and a biquad sample by sample."""
    rng = np.random.default_rng(1)
    signal = np.sin(np.arange(n) * 0.05) + 0.3 * rng.normal(size=n)

    def biquad(x, b, a):
        y = np.zeros_like(x)
        for i in range(2, len(x)):
            y[i] = b[0] * x[i] + b[1] * x[i - 1] + b[2] * x[i - 2] - a[0] * y[i - 1] - a[1] * y[i - 2]
        return y

    def run():
        t = np.arange(-15, 16)
        taps = np.sinc(0.2 * t) * np.hamming(31)
        taps /= taps.sum()
        low = np.convolve(signal, taps, mode="same")
        second = biquad(low, np.array([0.2, 0.4, 0.2]), np.array([-0.3, 0.1]))
        return [second, np.sqrt(np.mean((signal - low) ** 2))]

    return run


def spectrogram(n):
    """Frames, windows and transforms by hand, with the pitch of each frame."""
    signal = np.sin(np.cumsum(0.05 + 0.04 * np.sin(np.arange(n) / 500)))

    def run():
        width, hop = 64, 16
        frames = []
        for start in range(0, len(signal) - width + 1, hop):
            frames.append(signal[start : start + width] * np.hanning(width))
        power = np.abs(np.fft.rfft(np.array(frames), axis=1)) ** 2
        decibels = 10 * np.log10(power + 1e-12)
        pitch = np.argmax(power, axis=1)
        centroid = (power * np.arange(power.shape[1])).sum(1) / power.sum(1)
        return [decibels.max(0), pitch, centroid]

    return run


def kalman(n):
    """Follow a car from noisy places."""
    rng = np.random.default_rng(3)
    truth = np.cumsum(np.cumsum(rng.normal(0, 0.05, n)))
    seen = truth + rng.normal(0, 1.0, n)

    def run():
        F, H = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0]])
        Q, R = 0.01 * np.eye(2), np.array([[1.0]])
        x, P = np.zeros(2), np.eye(2) * 10
        track = np.empty((len(seen), 2))
        for k, z in enumerate(seen):
            x, P = F @ x, F @ P @ F.T + Q
            S = H @ P @ H.T + R
            K = P @ H.T @ np.linalg.inv(S)
            x = x + K @ (np.atleast_1d(z) - H @ x)
            P = (np.eye(2) - K @ H) @ P
            track[k] = x
        return [track, P]

    return run


def periodogram(n):
    """Lomb-Scargle of samples at uneven times."""
    rng = np.random.default_rng(4)
    t = np.sort(rng.uniform(0, 30, n))
    y = np.sin(2.1 * t) + rng.normal(0, 0.3, n)

    def run():
        omega = np.linspace(0.3, 6, 40)
        y0 = y - y.mean()
        power = np.empty_like(omega)
        for i, w in enumerate(omega):
            tau = np.arctan2(np.sin(2 * w * t).sum(), np.cos(2 * w * t).sum()) / (2 * w)
            c, s = np.cos(w * (t - tau)), np.sin(w * (t - tau))
            power[i] = 0.5 * ((y0 @ c) ** 2 / (c @ c) + (y0 @ s) ** 2 / (s @ s))
        return [power / y0.var(), omega[np.argmax(power)]]

    return run


def peaks(n):
    """Smooth a signal by moving medians, and find peaks that stand out."""
    rng = np.random.default_rng(5)
    signal = np.sin(np.arange(n) / 7) + rng.normal(0, 0.2, n)

    def run():
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(signal, 4, mode="reflect"), 9)
        smooth = np.median(windows, axis=1)
        residue = signal - smooth
        scale = 1.4826 * np.median(np.abs(residue - np.median(residue)))
        inner = (smooth[1:-1] >= smooth[:-2]) & (smooth[1:-1] > smooth[2:]) & (smooth[1:-1] > 0.5)
        places = np.nonzero(inner)[0] + 1
        slope = np.gradient(smooth)
        keep = places[np.r_[True, np.diff(places) > 3]] if places.size else places
        return [keep, smooth[keep], np.abs(residue) > 3 * scale, slope[keep]]

    return run


def heartbeats(n):
    """Turn crossings of a threshold into intervals, rates and their spread."""
    t = np.arange(n) / 100
    wave = np.sin(2 * np.pi * 1.1 * t) ** 21 + 0.05 * np.sin(2 * np.pi * 0.2 * t)

    def run():
        rising = np.flatnonzero((wave[:-1] < 0.4) & (wave[1:] >= 0.4))
        exact = t[rising] + (0.4 - wave[rising]) / (wave[rising + 1] - wave[rising]) * 0.01
        intervals = np.diff(exact)
        rate = 60 / intervals
        counts, edges = np.histogram(rate, bins=10)
        regular = np.interp(np.arange(exact[0], exact[-1], 0.25), exact[1:], rate)
        centred = regular - regular.mean()
        auto = np.correlate(centred, centred[:-8], "valid")
        return [rate.mean(), np.sqrt(np.mean(np.diff(intervals) ** 2)), counts, edges, auto]

    return run


PROGRAMS = {
    filters: (200, 30_000),
    spectrogram: (600, 150_000),
    kalman: (20, 4000),
    periodogram: (60, 12_000),
    peaks: (300, 200_000),
    heartbeats: (1000, 3_000_000),
}
