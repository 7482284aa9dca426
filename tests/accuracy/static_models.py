#!/usr/bin/env python3
"""Every benchmark model at its own shape: within 5e-4 of ONNX Runtime, and the same bits at 1 and 2 threads.

    static_models.py BUILD MODELS NAME
"""
import sys

import numpy as np

from models import SHAPES, VALUES, Bench, difference, flag, random_feeds, runtime


def main(build, models, name):
    bench, shapes, values = Bench(build, models), SHAPES[name], VALUES.get(name)
    file = bench.build_engine(name, f"--shapes={flag(shapes, values)}")
    with bench.open(file, 1) as one, bench.open(file, 2) as two:
        feeds = random_feeds(one, shapes, np.random.default_rng(0), values)
        got, also = one(feeds), two(feeds)
    worst = difference(got, runtime(bench.models / f"{name}.onnx")(feeds))
    same = all(got[output].tobytes() == also[output].tobytes() for output in got)
    print(f"{name}: difference to ONNX Runtime {worst:.1e}; bits at 1 and 2 threads {'equal' if same else 'DIFFER'}")
    return not (worst <= 5e-4 and same)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
