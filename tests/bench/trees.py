#!/usr/bin/env python3
"""Times models of trees against ONNX Runtime, in turns: median microseconds a run, at batches of 1 and 1,000.

    trees.py BUILD [--threads 1,2] [--level 3] [--rounds 30] [NAME ...]

Needs the Python environment of `cmake/setup.sh test`. Both bind their buffers once, so that only runs are timed.
"""
import argparse
import pathlib
import statistics
import sys
import time

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "accuracy"))
import tree_models as made  # noqa: E402  (the path is set above)
from models import Bench, flag  # noqa: E402

FEATURES, ROWS, BATCHES = 30, 10000, (1, 1000)
MODELS = {}


def model(make):
    MODELS[make.__name__] = make
    return make


def data(classes=0, missing=False):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((ROWS, FEATURES)).astype(np.float32)
    y = made.target(x, classes)
    if missing:
        x[rng.random(x.shape) < 0.1] = np.nan
    return x, y


@model
def random_forest_100():
    from sklearn.ensemble import RandomForestClassifier
    x, y = data(2)
    return made.sklearn_model(RandomForestClassifier(100, random_state=0, n_jobs=-1), x, y), x


@model
def random_forest_100_of_10_classes():
    from sklearn.ensemble import RandomForestClassifier
    x, y = data(10)
    return made.sklearn_model(RandomForestClassifier(100, max_depth=10, random_state=0, n_jobs=-1), x, y), x


@model
def random_forest_regressor_100():
    from sklearn.ensemble import RandomForestRegressor
    x, y = data()
    return made.sklearn_model(RandomForestRegressor(100, random_state=0, n_jobs=-1), x, y), x


@model
def gradient_boosting_100():
    from sklearn.ensemble import GradientBoostingClassifier
    x, y = data(2)
    return made.sklearn_model(GradientBoostingClassifier(n_estimators=100, random_state=0, subsample=0.3), x, y), x


@model
def hist_gradient_boosting_100_missing():
    from sklearn.ensemble import HistGradientBoostingRegressor
    x, y = data(missing=True)
    return made.sklearn_model(HistGradientBoostingRegressor(max_iter=100, random_state=0), x, y), x


def boosted(name, trees, x, y, **fit):
    import lightgbm
    learner = getattr(lightgbm, name)(n_estimators=trees, random_state=0, verbose=-1, n_jobs=2)
    return made.lightgbm_model(learner, x, y, **fit), x


@model
def lightgbm_100():
    return boosted("LGBMClassifier", 100, *data(2))


@model
def lightgbm_500_missing():
    return boosted("LGBMRegressor", 500, *data(missing=True))


@model
def lightgbm_100_of_5_classes():
    return boosted("LGBMClassifier", 100, *data(5))


@model
def lightgbm_100_of_categories():
    x, y = data()
    kinds = np.random.default_rng(2).integers(0, 50, (ROWS, 4)).astype(np.float32)
    x, y = np.hstack([x, kinds]), y + (kinds[:, 0] % 3) * 2 + (kinds[:, 1] % 7)
    return boosted("LGBMRegressor", 100, x, y, categorical_feature=[30, 31, 32, 33])


def onnx_runtime(file, threads, x):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    binding, outputs = session.io_binding(), session.run(None, {"x": x})
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in [x, *outputs]]
    binding.bind_ortvalue_input("x", values[0])
    for output, value in zip(session.get_outputs(), values[1:]):
        binding.bind_ortvalue_output(output.name, value)
    return lambda: session.run_with_iobinding(binding), values


def microseconds(run, calls):
    start = time.perf_counter_ns()
    for _ in range(calls):
        run()
    return (time.perf_counter_ns() - start) / calls / 1000


def in_turns(runs, rounds):
    """The median time of each run, in microseconds. Rests between turns, so that one's idle threads stop spinning."""
    calls, times = [], [[] for _ in runs]
    for run in runs:
        microseconds(run, 3)
        calls.append(max(3, min(2000, int(20000 / max(microseconds(run, 5), 1)))))
    for _ in range(rounds):
        for i, run in enumerate(runs):
            time.sleep(0.01)
            run()
            times[i].append(microseconds(run, calls[i]))
    return [statistics.median(of_run) for of_run in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--level", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=30)
    given = parser.parse_intermixed_args()
    bench = Bench(given.build, ".")
    bench.models = bench.scratch
    print(f"{'model':36} {'batch':>5} {'threads':>7} {'Planwright':>11} {'ORT':>9} {'ratio':>6}")
    for name in given.names or MODELS:
        proto, x = MODELS[name]()
        for output in proto.graph.output:  # onnxmltools declares labels of one row
            output.type.tensor_type.shape.dim[0].dim_param = "rows"
        file = bench.models / f"{name}.onnx"
        onnx.save(proto, file)
        for rows in BATCHES:
            shapes = f"--shapes={flag({'x': (rows, x.shape[1])})}"
            for threads in map(int, given.threads.split(",")):
                path = bench.build_engine(name, shapes, f"--threads={threads}",
                                          f"--builderOptimizationLevel={given.level}")
                with bench.open(path, threads) as engine:
                    ours, _ = engine.bind({"x": x[:rows].copy()})
                    theirs, kept = onnx_runtime(file, threads, x[:rows].copy())
                    times = in_turns([ours, theirs], given.rounds)
                print(f"{name:36} {rows:5} {threads:7} {times[0]:11.1f} {times[1]:9.1f} {times[0] / times[1]:6.2f}",
                      flush=True)


if __name__ == "__main__":
    main()
