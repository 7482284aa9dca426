#!/usr/bin/env python3
"""One engine for a whole range of shapes: right at 20 random ones against ONNX Runtime (1e-3), and shapes that the model
cannot take are refused when they are set, naming the layer.

    dynamic_models.py BUILD MODELS NAME
"""
import sys

import numpy as np

from models import Bench, difference, flag, random_feeds, runtime

# name -> (min, opt, max), and a function that makes a random shape between them
RANGES = {
    "ppocr_cls": ({"x": (1, 3, 48, 192)}, {"x": (1, 3, 48, 192)}, {"x": (8, 3, 48, 192)},
                  lambda rng: {"x": (int(rng.integers(1, 9)), 3, 48, 192)}),
    "ppocrv4_rec": ({"x": (1, 3, 48, 32)}, {"x": (1, 3, 48, 320)}, {"x": (4, 3, 48, 960)},
                    lambda rng: {"x": (int(rng.integers(1, 5)), 3, 48, int(rng.integers(32, 961)))}),
    "ppocrv4_det": ({"x": (1, 3, 320, 320)}, {"x": (1, 3, 640, 640)}, {"x": (1, 3, 960, 960)},
                    lambda rng: {"x": (1, 3, *(int(32 * n) for n in rng.integers(10, 31, 2)))}),
    "minilm_l3": tuple({"input_ids": dims, "attention_mask": dims} for dims in ((1, 8), (1, 128), (8, 256))) +
                 (lambda rng: dict.fromkeys(("input_ids", "attention_mask"),
                                            (int(rng.integers(1, 9)), int(rng.integers(8, 257)))),),
    "nsnet2_16k": ({"input": (1, 1, 161)}, {"input": (1, 100, 161)}, {"input": (4, 400, 161)},
                   lambda rng: {"input": (int(rng.integers(1, 5)), int(rng.integers(1, 401)), 161)}),
    "magika": ({"bytes": (1, 2048)}, {"bytes": (1, 2048)}, {"bytes": (16, 2048)},
               lambda rng: {"bytes": (int(rng.integers(1, 17)), 2048)}),
}


def refused_sides(engine):
    """Whether sides that are not multiples of 32 are refused with the layer's name (ONNX Runtime fails there too)."""
    try:
        engine({"x": np.zeros((1, 3, 330, 320), np.float32)})
    except RuntimeError as error:
        print(f"  330 x 320: {error}")
        return "set_input_shape" in str(error) or "output_limit" in str(error)
    print("  330 x 320 ran, although the model cannot take it")
    return False


def main(build, models, name):
    bench, (low, best, high, random_shape) = Bench(build, models), RANGES[name]
    file = bench.build_engine(name, f"--minShapes={flag(low)}", f"--optShapes={flag(best)}", f"--maxShapes={flag(high)}")
    reference, rng, worst = runtime(bench.models / f"{name}.onnx"), np.random.default_rng(1), 0.0
    with bench.open(file, 2) as engine:
        for _ in range(20):
            shapes = random_shape(rng)
            feeds = random_feeds(engine, shapes, rng)
            error = difference(engine(feeds), reference(feeds))
            print(f"  {flag(shapes)}: {error:.1e}")
            worst = max(worst, error)
        refused = refused_sides(engine) if name == "ppocrv4_det" else True
    print(f"{name}: largest difference over 20 shapes {worst:.1e}")
    return not (worst <= 1e-3 and refused)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
