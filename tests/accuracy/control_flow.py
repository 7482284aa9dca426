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
    # As tf2onnx writes a Dense layer behind a loop over time: a Reshape to sizes one of which the loop decides.
    "tensordot_of_a_loop": (
        """(float[t, b, 2] x) => (float[b, s, 3] y) <bool yes = {1}, int64[2] free = {0, 1},
           int64[2] rows = {-1, 2}, int64[1] width = {3}, float[2, 3] w = {1, 2, 3, 4, 5, 6}, int64 first = {0},
           int64 one = {1}> {
           dims = Shape(x) trips = Gather(dims, first) start = ReduceMin<axes = [0], keepdims = 0>(x)
           h, all = Loop(trips, yes, start) <body = g (int64 i, bool c, float[b, 2] s) =>
           (bool again, float[b, 2] n, float[b, 2] o)
           { now = Gather<axis = 0>(x, i) n = Add(s, now) o = Tanh(n) next = Add(i, one) again = Less(next, trips) }>
           turned = Transpose<perm = [1, 0, 2]>(all) sizes = Shape(turned) kept = Gather(sizes, free)
           to = Concat<axis = 0>(kept, width) flat = Reshape(turned, rows) p = MatMul(flat, w) y = Reshape(p, to) }""",
        ["--minShapes=x:1x1x2", "--optShapes=x:4x3x2", "--maxShapes=x:9x5x2"],
        [{"x": np.sin(np.arange(t * b * 2, dtype=np.float32)).reshape(t, b, 2)}
         for t, b in ((1, 1), (4, 3), (9, 5), (3, 2))]),
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
