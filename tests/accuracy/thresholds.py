#!/usr/bin/env python3
"""Calibrators' thresholds against their definitions written down once more in NumPy: thresholds.py BUILD.

Runs BUILD/bin/thresholds on distributions of many kinds, in one archive, in a compressed one, and shuffled and in
pieces in a folder, which must all come to the same. A threshold must lose as little as the best one by the definition,
ties aside, and lie where the definition puts it.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

BINS, LEVELS = 2048, 128
CALIBRATORS = ("entropy", "minmax", "percentile", "mse")


# ---- Definitions

def histogram_of(x):
    """Bins of |x| up to its largest, and that."""
    magnitudes = np.abs(x.astype(np.float64))
    limit = magnitudes.max()
    return np.histogram(magnitudes, BINS, (0, limit))[0].astype(np.float64), limit


def divergence(counts, cut):
    """KL(P || Q): P the first bins with what lies beyond in the last; Q those bins in 128 levels, spread back over the
    bins that P does not have empty."""
    p = counts[:cut].copy()
    p[-1] += counts[cut:].sum()
    level = np.arange(cut) * LEVELS // cut
    mass = np.bincount(level, counts[:cut], LEVELS)
    filled = np.bincount(level, p > 0, LEVELS)
    q = np.where(p > 0, (mass / np.maximum(filled, 1))[level], 0)
    p, q = p / p.sum(), q / max(q.sum(), 1e-300)
    inside = p > 0
    if (q[inside] == 0).any():
        return np.inf
    return float((p[inside] * np.log(p[inside] / q[inside])).sum())


def integral_of_error(x, step):
    """Of (t - rounded t)^2 for t from 0 to x, where values round to multiples of the step."""
    level = np.round(x / step)
    return (x - level * step) ** 3 / 3 + level * step ** 3 / 12


def squared_error(counts, cut):
    """The mean over values that are spread evenly over their bins, whose largest level is the edge `cut`."""
    edges = np.arange(BINS + 1.0)
    inside = integral_of_error(np.minimum(edges, cut), cut / 127)
    beyond = np.maximum(edges - cut, 0) ** 3 / 3
    return float(counts @ np.diff(inside + beyond) / counts.sum())


# ---- Distributions

def distributions():
    rng = np.random.default_rng(0)
    normal = rng.standard_normal(20000)
    outliers = rng.standard_normal(30000)
    outliers[:5] *= 40
    yield "normal", normal
    yield "rectified", np.maximum(normal, 0)
    yield "clipped_at_6", np.clip(normal * 3, 0, 6)
    yield "laplace", rng.laplace(size=20000)
    yield "lognormal", rng.lognormal(0, 1.5, 20000)
    yield "outliers", outliers
    yield "uniform", rng.uniform(-1, 1, 50000)
    yield "one_sided", rng.uniform(3, 5, 5000)
    yield "negative", -rng.gamma(2, 3, 10000)
    yield "two_values", rng.choice([0.0, 1.0], 500)
    yield "few_levels", rng.integers(-8, 8, 3000) / 16
    yield "softmax", np.exp(4 * normal) / np.exp(4 * normal).sum()
    yield "hard_swish", normal * np.clip(normal + 3, 0, 6) / 6
    yield "tiny", normal * 1e-36
    yield "huge", normal * 1e37
    yield "one", np.array([-2.5])
    yield "constant", np.full(100, 0.3)
    for seed in range(12):
        shape = rng.uniform(0.3, 4)
        values = rng.gamma(shape, rng.uniform(0.1, 5), int(rng.integers(100, 30000)))
        yield f"gamma_{seed}", values * rng.choice([-1, 1])


# ---- Checks

def check_best(title, losses, first, cut):
    """Whether the cut loses as little as any, to rounding."""
    chosen, least = losses[cut - first], min(losses)
    if chosen <= least + 1e-9 * max(1, abs(least)):
        return True
    print(f"{title}: cut {cut} loses {chosen}, cut {first + int(np.argmin(losses))} only {least}")
    return False


def check(name, x, fields):
    numbers = [float.fromhex(field) for field in fields]
    low, high, *thresholds, scale, _, symmetric = numbers
    got, (counts, limit) = dict(zip(CALIBRATORS, thresholds)), histogram_of(x)
    passed = []

    def expect(what, value, wanted):
        passed.append(np.float32(value) == np.float32(wanted))
        if not passed[-1]:
            print(f"{name}: {what} is {value}, not {wanted}")

    expect("the low end", low, x.min())
    expect("the high end", high, x.max())
    expect("minmax", got["minmax"], limit)
    within = np.cumsum(counts)
    expect("percentile", got["percentile"], (np.argmax(within >= 0.9999 * within[-1]) + 1) * limit / BINS)

    divergences = [divergence(counts, cut) for cut in range(LEVELS, BINS)]
    if np.isinf(min(divergences)):
        expect("entropy", got["entropy"], limit)
    else:
        cut = int(got["entropy"] / limit * BINS)
        expect("entropy", got["entropy"], (cut + 0.5) * limit / BINS)
        passed.append(check_best(f"{name}: entropy", divergences, LEVELS, cut))
    cut = round(got["mse"] / limit * BINS)
    expect("mse", got["mse"], cut * limit / BINS)
    passed.append(check_best(f"{name}: mse", [squared_error(counts, c) for c in range(LEVELS, BINS + 1)], LEVELS, cut))

    width = max(float(x.max()), 0) - min(float(x.min()), 0)
    expect("the scale of uint8", scale, width / 255)
    expect("the zero point", int(fields[-2]), np.rint(-min(float(x.min()), 0) / float(np.float32(width / 255))))
    expect("the scale of int8", symmetric, limit / 127)
    return all(passed)


def save_pieces(folder, arrays, pieces=5):
    """The same values in other samples: several files, in each some of every array, in another order."""
    rng = np.random.default_rng(1)
    folder.mkdir()
    shuffled = {name: np.array_split(rng.permutation(x), pieces) for name, x in arrays.items()}
    for index in range(pieces):
        np.savez(folder / f"piece_{index}.npz", **{name: parts[index][None] for name, parts in shuffled.items()})


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    arrays = {name: x.astype(np.float32) for name, x in distributions()}
    samples = {name: x[None] for name, x in arrays.items()}
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        np.savez(folder / "plain.npz", **samples)
        np.savez_compressed(folder / "compressed.npz", **samples)
        save_pieces(folder / "pieces", arrays)
        outputs = [subprocess.run([build / "bin/thresholds", folder / path, *arrays], check=True, capture_output=True,
                                  text=True).stdout for path in ("plain.npz", "compressed.npz", "pieces")]
    lines = dict(line.split(" ", 1) for line in outputs[0].splitlines())
    failed = [name for name, x in arrays.items() if not (name in lines and check(name, x, lines[name].split()))]
    if outputs[1:] != outputs[:-1]:
        print("the form of the samples changes what comes of them")
        failed.append("forms")
    print(f"{len(arrays) + 1 - len(failed)} passed, {len(failed)} failed")
    return len(failed) > 0


if __name__ == "__main__":
    sys.exit(main())
