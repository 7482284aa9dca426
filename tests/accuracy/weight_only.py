#!/usr/bin/env python3
"""An encoder whose weights are rounded to int4: how small its engine is, and how far from fp32 it takes sentences.

    weight_only.py BUILD MODELS NAME
"""
import sys

import numpy as np

from models import ROOT, Bench, runtime

MOST_OF_FP32, LEAST_COSINE = 0.3, 0.98


def sentences():
    lines = (ROOT / "calib_data/sentences.txt").read_text().splitlines()
    return [[int(piece) for piece in line.split("\t")[0].split()] for line in lines if not line.startswith("#")]


def cosine(a, b):
    a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def main(build, models, name):
    bench, pieces = Bench(build, models), sentences()
    lengths = sorted(map(len, pieces))
    profile = [f"--{which}Shapes=input_ids:1x{length},attention_mask:1x{length}"
               for which, length in (("min", lengths[0]), ("opt", lengths[-1]), ("max", lengths[-1]))]
    full = bench.build_engine(name, *profile).stat().st_size
    file = bench.build_engine(name, *profile, "--weightOnly=int4")
    share = file.stat().st_size / full
    reference, least = runtime(bench.models / f"{name}.onnx"), {}
    with bench.open(file) as engine:
        for ids in pieces:
            feeds = {"input_ids": np.array([ids]), "attention_mask": np.ones((1, len(ids)), np.int64)}
            got, want = engine(feeds), reference(feeds)
            for output, w in want.items():
                if w.dtype.kind == "f":
                    least[output] = min(least.get(output, 1), cosine(got[output], w))
    print(f"{name} in int4: {share:.2f} of the engine in fp32; cosine to it over {len(pieces)} sentences at least " +
          ", ".join(f"{value:.4f} ({output})" for output, value in least.items()))
    return not (share <= MOST_OF_FP32 and least and min(least.values()) >= LEAST_COSINE)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
