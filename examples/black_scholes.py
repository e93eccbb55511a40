"""Value a book of European options with the Black-Scholes formula over a range of volatilities."""

import argparse
import math
import time

import numpy as np


def normal_cdf(x):
    """Cumulative normal distribution (Abramowitz and Stegun 26.2.17, error below 7.5e-8)."""
    k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi) * poly
    return np.where(x > 0.0, 1.0 - tail, tail)


def black_scholes(spot, strike, years, rate, volatility):
    """Return the call price, the put price, and the call's delta."""
    root = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / root
    d2 = d1 - root
    discounted = strike * np.exp(-rate * years)
    delta = normal_cdf(d1)
    call = spot * delta - discounted * normal_cdf(d2)
    put = call - spot + discounted
    return call, put, delta


def market(count, seed):
    """Draw spot prices, strikes and times to expiry (in years) for `count` options."""
    rng = np.random.default_rng(seed)
    spot = rng.uniform(20.0, 120.0, count)
    strike = spot * rng.uniform(0.7, 1.3, count)
    years = rng.uniform(0.05, 2.0, count)
    return spot, strike, years


def main():
    """Read the options, value the book for each volatility, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000, help="number of options in the book")
    parser.add_argument("--scenarios", type=int, default=16, help="number of volatilities tried")
    parser.add_argument("--rate", type=float, default=0.03, help="risk-free rate, per year")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", metavar="FILE.npz", help="write the resulting arrays")
    options = parser.parse_args()

    start = time.perf_counter()
    spot, strike, years = market(options.count, options.seed)
    volatilities = np.linspace(0.1, 0.6, options.scenarios)
    calls, puts, hedges = [], [], []
    for volatility in volatilities:
        call, put, delta = black_scholes(spot, strike, years, options.rate, volatility)
        calls.append(call.sum())
        puts.append(put.sum())
        hedges.append((delta * spot).sum())
    calls, puts, hedges = np.array(calls), np.array(puts), np.array(hedges)

    book, worst = calls + puts, np.argmax(np.abs(hedges))
    print(f"book value {book[0]:,.2f} at the lowest volatility, {book[-1]:,.2f} at the highest")
    print(f"largest hedge {hedges[worst]:,.2f} at volatility {volatilities[worst]:.2f}")
    print(f"time: {time.perf_counter() - start:.4f} s")

    if options.save:
        np.savez(options.save, calls=calls, puts=puts, hedges=hedges, last_call=call, last_delta=delta)


if __name__ == "__main__":
    main()
