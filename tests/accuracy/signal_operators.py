#!/usr/bin/env python3
"""Operators that sample images and transform signals, at dynamic shapes: an engine against ONNX Runtime.

    signal_operators.py BUILD [NAME ...]
"""
import itertools
import sys

import numpy as np

from one_node import Fixed, normal, run_cases, uniform

f = np.float32


def sampling_cases():
    for mode, padding, corners in itertools.product(("linear", "nearest", "cubic"), ("zeros", "border", "reflection"),
                                                    (0, 1)):
        attributes = {"mode": mode, "padding_mode": padding, "align_corners": corners}
        image, grid = normal(2, 3, 7, 6), normal(2, 4, 5, 2)
        symbols = ((0, ("n", None, "h", "w")), (1, ("n", "p", "q", None)))
        yield "GridSample", [image, grid], [f], attributes | {"symbols": symbols}
        if mode != "cubic":
            yield "GridSample", [normal(2, 3, 4, 5, 6), normal(2, 2, 3, 4, 3)], [f], attributes
    for mode, samples, coordinates in itertools.product(("avg", "max"), (0, 2), ("half_pixel", "output_half_pixel")):
        regions = np.abs(normal(4, 4)) * 3
        regions[:, 2:] += regions[:, :2]
        yield ("RoiAlign", [normal(2, 3, 7, 6), regions, np.array([0, 1, 1, 0])], [f],
               {"mode": mode, "sampling_ratio": samples, "coordinate_transformation_mode": coordinates,
                "output_height": 2, "output_width": 3, "spatial_scale": 0.5,
                "symbols": ((0, ("n", None, "h", "w")), (1, ("r", None)), (2, ("r",)))})
    yield ("DeformConv", [normal(2, 4, 7, 6), Fixed(normal(6, 2, 3, 3)), normal(2, 36, 4, 3), Fixed(normal(6)),
                          np.abs(normal(2, 18, 4, 3))], [f],
           {"group": 2, "offset_group": 2, "strides": [2, 2], "pads": [1, 1, 1, 1], "kernel_shape": [3, 3]})
    places = np.array([[[[0, 3], [9, 14]]]])
    image = ("n", None, "h", "w")
    yield ("MaxUnpool", [normal(1, 1, 2, 2), places], [f],
           {"kernel_shape": [2, 2], "strides": [2, 2], "symbols": ((0, image), (1, image))})
    yield ("Col2Im", [normal(2, 12, 9), Fixed(np.array([4, 4])), Fixed(np.array([2, 2]))], [f],
           {"symbols": ((0, ("n", None, None)),)})


def transform_cases():
    batch = {"symbols": ((0, ("n", None, None)),)}
    axis = Fixed(np.array(1))
    for parts, length, onesided in ((1, 16, 0), (1, 16, 1), (1, 12, 0), (1, 20, 1), (2, 16, 0)):
        yield "DFT", [normal(2, 16, parts), Fixed(np.array(length)), axis], [f], {"onesided": onesided} | batch
    yield "DFT", [normal(2, 16, 2), None, axis], [f], {"inverse": 1} | batch
    signal = {"symbols": ((0, ("n", "l", None)),)}
    for onesided in (0, 1):
        window = Fixed(np.hanning(16).astype(f))
        yield "STFT", [normal(2, 60, 1), Fixed(np.array(5)), window], [f], {"onesided": onesided} | signal
    yield "STFT", [normal(2, 60, 1), Fixed(np.array(7)), None, Fixed(np.array(12))], [f], signal
    yield ("MelWeightMatrix", [Fixed(np.array(n)) for n in (8, 64, 16000)] + [Fixed(np.array(hertz, f)) for hertz in (20, 7600)], [f], {})
    yield "Det", [normal(2, 4, 4)], [f], batch
    yield ("TfIdfVectorizer", [uniform(3, 8, high=5, dtype=np.int64)], [f],
           {"max_gram_length": 2, "min_gram_length": 1, "max_skip_count": 1, "mode": "TFIDF", "ngram_counts": [0, 3],
            "ngram_indexes": [0, 1, 2, 3, 4], "pool_int64s": [1, 2, 3, 1, 2, 2, 4],
            "weights": [0.5, 1.0, 1.5, 2.0, 2.5], "symbols": ((0, ("n", None)),)})


if __name__ == "__main__":
    sys.exit(run_cases("", (sampling_cases, transform_cases), sys.argv[1], sys.argv[2:]))
