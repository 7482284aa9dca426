#!/usr/bin/env python3
"""Models whose sizes and branches data decide, against ONNX Runtime at several inputs each (1e-5).

    control_flow.py BUILD
"""
import sys

import numpy as np
import onnx.parser

from models import Bench, difference, runtime

HEADER = '<ir_version: 8, opset_import: ["" : 17]> g '

# name -> model, shape flags, inputs to run it at
MODELS = {
    "collect_while": (
        """(float[1] x) => (float[1] y, float[n, 1] all) <int64 trips = {300}, bool yes = {1}, float[1] limit = {100}> {
           y, all = Loop(trips, yes, x) <body = b (int64 i, bool c, float[1] s) => (bool[1] again, float[1] t, float[1] u)
           { t = Add(s, s) u = Neg(t) again = Less(t, limit) }> }""",
        [], [{"x": np.array([v], np.float32)} for v in (0.5, 20, 200, 0.001)]),
    "collect_up_to": (
        """(int64 trips, float[2] x) => (float[n, 2] all) <bool yes = {1}, float limit = {50}> {
           y, stack = Loop(trips, yes, x) <body = b (int64 i, bool c, float[2] s) => (bool again, float[2] t, float[2] u)
           { t = Add(s, s) u = Sqrt(t) m = ReduceMax<keepdims = 0>(t) again = Less(m, limit) }> all = Neg(stack) }""",
        ["--minShapes=trips:1", "--optShapes=trips:4", "--maxShapes=trips:9"],
        [{"trips": np.array(t, np.int64), "x": np.array([v, 1], np.float32)} for t, v in ((1, 1), (9, 1), (9, 30), (5, 2))]),
    "no_trip_count": (
        """(float[1] x) => (float[1] y) <bool yes = {1}, float[1] limit = {100}> {
           y = Loop("", yes, x) <body = b (int64 i, bool c, float[1] s) => (bool[1] again, float[1] t)
           { t = Add(s, s) again = Less(t, limit) }> }""",
        [], [{"x": np.array([v], np.float32)} for v in (1, 60, 101)]),
    "keep_if_any": (
        """(float[6] x) => (float[n] y) <float limit = {1}, int64[1] flat = {-1}> {
           m = ReduceMax<keepdims = 0>(x) c = Greater(m, limit) y = If(c) <then_branch = a () => (float[k] p)
           { big = Greater(x, limit) i = NonZero(big) j = Reshape(i, flat) p = Gather(x, j) },
           else_branch = b () => (float[0] e) { e = Constant<value = float[0] {}>() }> }""",
        [], [{"x": np.array(v, np.float32)} for v in ([0, 2, 3, 0, 1, 5], [0, 0, 0, 0, 0, 0], [9, 9, 9, 9, 9, 9])]),
    "one_branch_fits": (
        """(bool c, float[n] x) => (float[m] y) <float[3] w = {1, 2, 3}> { y = If(c) <then_branch = a () => (float[m] p)
           { p = Abs(x) }, else_branch = b () => (float[m] q) { q = Add(x, w) }> }""",
        ["--shapes=x:2"], [{"c": np.array(True), "x": np.array([-1, 2], np.float32)}]),
}


def main(build):
    bench, good = Bench(build, "."), True
    bench.models = bench.scratch
    for name, (text, flags, inputs) in MODELS.items():
        onnx.save(onnx.parser.parse_model(HEADER + text), bench.models / f"{name}.onnx")
        reference = runtime(bench.models / f"{name}.onnx")
        with bench.open(bench.build_engine(name, *flags), 1) as engine:
            for feeds in inputs:
                error = difference(engine(feeds), reference(feeds))
                print(f"{name} {feeds}: {error:.1e}")
                good = good and error <= 1e-5
    return not good


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
