#!/usr/bin/env python3
"""Operators of the domain ai.onnx.ml, one small model each: what an engine makes of it against ONNX Runtime.

    ml_operators.py BUILD [NAME ...]
"""
import sys

import numpy as np

from one_node import UNREAD, normal, run_cases, uniform

FEATURES = 4
POST_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")


def forest(rng, trees, depth, prefix, targets, positive=False, mode="BRANCH_LEQ"):
    """Complete trees with random splits and votes, as attributes."""
    a = {f"nodes_{name}": [] for name in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids",
                                          "falsenodeids", "missing_value_tracks_true")}
    votes = {f"{prefix}_{name}": [] for name in ("treeids", "nodeids", "ids", "weights")}
    inner = 2**depth - 1
    for tree in range(trees):
        for i in range(2 * inner + 1):
            leaf = i >= inner
            a["nodes_treeids"].append(tree)
            a["nodes_nodeids"].append(i)
            a["nodes_featureids"].append(0 if leaf else int(rng.integers(FEATURES)))
            a["nodes_modes"].append("LEAF" if leaf else mode)
            a["nodes_values"].append(0.0 if leaf else float(np.float32(rng.integers(-4, 5) / 4)))
            a["nodes_truenodeids"].append(0 if leaf else 2 * i + 1)
            a["nodes_falsenodeids"].append(0 if leaf else 2 * i + 2)
            a["nodes_missing_value_tracks_true"].append(0 if leaf else int(rng.integers(2)))
            for target in targets if leaf else ():
                votes[f"{prefix}_treeids"].append(tree)
                votes[f"{prefix}_nodeids"].append(i)
                votes[f"{prefix}_ids"].append(target)
                weight = rng.standard_normal() / trees
                votes[f"{prefix}_weights"].append(float(abs(weight) if positive else weight))
    return a | votes


def rows(count=7, missing=True):
    """Random features on the splits and between them, some of them missing."""
    x = np.round(normal(count, FEATURES) * 4) / 4
    if missing:
        x[0, 0] = x[2, 3] = np.nan
    return x.astype(np.float32)


def tree_cases():
    rng = np.random.default_rng(1)
    f = np.float32
    for mode in ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"):
        yield "TreeEnsembleRegressor", [rows()], [f], forest(rng, 3, 3, "target", [0], mode=mode) | {"n_targets": 1}
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        yield ("TreeEnsembleRegressor", [rows()], [f],
               forest(rng, 4, 2, "target", [0, 1, 2]) | {
                   "n_targets": 3, "aggregate_function": aggregate, "base_values": [0.5, -1.0, 0.25]})
    yield ("TreeEnsembleRegressor", [rows().astype(np.float64)], [f],
           forest(rng, 3, 3, "target", [0, 1]) | {"n_targets": 2, "post_transform": "LOGISTIC"})
    whole = uniform(5, FEATURES, low=-2, high=3, dtype=np.int64)
    yield ("TreeEnsembleRegressor", [whole], [f], forest(rng, 3, 3, "target", [0]) | {"n_targets": 1},
           [whole.astype(f)])  # ONNX Runtime takes floats only
    # One of 1, 3 and 40: a chain of equalities that share what is behind yes.
    x = np.array([[value, 0, 0, 0] for value in (0, 1, 2, 3, 40, -1, 2.5, np.nan)], f)
    for missing in (0, 1):
        yield ("TreeEnsembleRegressor", [x], [f],
               {"n_targets": 1, "nodes_treeids": [0] * 5, "nodes_nodeids": list(range(5)), "nodes_featureids": [0] * 5,
                "nodes_modes": ["BRANCH_EQ"] * 3 + ["LEAF"] * 2, "nodes_values": [1.0, 3.0, 40.0, 0.0, 0.0],
                "nodes_truenodeids": [4, 4, 4, 0, 0], "nodes_falsenodeids": [1, 2, 3, 0, 0],
                "nodes_missing_value_tracks_true": [missing] * 3 + [0, 0], "target_treeids": [0, 0],
                "target_nodeids": [3, 4], "target_ids": [0, 0], "target_weights": [1.0, 2.0]})
    outputs = [np.int64, f]
    for post in POST_TRANSFORMS:
        yield ("TreeEnsembleClassifier", [rows()], outputs,
               forest(rng, 3, 2, "class", [0, 1, 2]) | {"classlabels_int64s": [3, 5, 7], "post_transform": post})
        yield ("TreeEnsembleClassifier", [rows()], outputs,
               forest(rng, 3, 2, "class", [0]) | {"classlabels_int64s": [3, 5], "post_transform": post})
        yield ("TreeEnsembleClassifier", [rows()], outputs,
               forest(rng, 3, 2, "class", [0], positive=True) | {"classlabels_int64s": [0, 1], "post_transform": post})
        for positive in (False, True):
            yield ("TreeEnsembleClassifier", [rows()], outputs, forest(rng, 3, 2, "class", [1], positive=positive) |
                   {"classlabels_int64s": [3, 5], "post_transform": post})
    yield ("TreeEnsembleClassifier", [rows()], outputs,
           forest(rng, 3, 2, "class", [0, 1, 2]) | {"classlabels_int64s": [0, 1, 2], "base_values": [0.5, 0.0, -0.5]})
    yield ("TreeEnsembleClassifier", [rows()], outputs,
           forest(rng, 3, 2, "class", [0]) | {"classlabels_int64s": [0, 1], "base_values": [0.25]})
    # ONNX Runtime's label is the second wherever its score is positive, though the first's may be larger.
    yield ("TreeEnsembleClassifier", [rows()], [UNREAD, f],
           forest(rng, 3, 2, "class", [0, 1], positive=True) | {"classlabels_int64s": [0, 1]})


def linear_cases():
    f, outputs = np.float32, [np.int64, np.float32]
    x = rows(missing=False)
    numbers = lambda count: [float(value) for value in normal(count)]
    yield "LinearRegressor", [x], [f], {"coefficients": numbers(4), "intercepts": [0.5]}
    yield "LinearRegressor", [x], [f], {"coefficients": numbers(12), "intercepts": numbers(3), "targets": 3}
    for post in POST_TRANSFORMS:
        yield ("LinearClassifier", [x], outputs,
               {"coefficients": numbers(12), "intercepts": numbers(3), "classlabels_ints": [4, 5, 6],
                "post_transform": post})
        yield ("LinearClassifier", [x], outputs,
               {"coefficients": numbers(8), "intercepts": numbers(2), "classlabels_ints": [0, 1],
                "post_transform": post})
    for post in ("NONE", "LOGISTIC"):
        yield ("LinearClassifier", [x], outputs,
               {"coefficients": numbers(4), "intercepts": numbers(1), "classlabels_ints": [4, 5],
                "post_transform": post})
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        machine = {"kernel_type": kernel, "kernel_params": [0.3, 0.1, 2.0]}
        yield ("SVMRegressor", [x], [f],
               machine | {"n_supports": 3, "support_vectors": numbers(12), "coefficients": numbers(3), "rho": [0.2]})
        yield ("SVMClassifier", [x], outputs,
               machine | {"classlabels_ints": [1, 2, 3], "vectors_per_class": [2, 1, 2],
                          "support_vectors": numbers(20), "coefficients": numbers(10), "rho": numbers(3)})
        yield ("SVMClassifier", [x], outputs,
               machine | {"classlabels_ints": [1, 2], "vectors_per_class": [2, 3], "support_vectors": numbers(20),
                          "coefficients": numbers(5), "rho": numbers(1)})
        yield ("SVMClassifier", [x], outputs,
               machine | {"classlabels_ints": [1, 2], "vectors_per_class": [2, 3], "support_vectors": numbers(20),
                          "coefficients": numbers(5), "rho": numbers(1), "prob_a": [-1.5], "prob_b": [0.1]})
    for count in (3, 5):
        pairs = count * (count - 1) // 2
        yield ("SVMClassifier", [x], outputs,
               {"kernel_type": "RBF", "kernel_params": [0.3, 0.1, 2.0], "classlabels_ints": list(range(count)),
                "vectors_per_class": [2] * count, "support_vectors": numbers(2 * count * FEATURES),
                "coefficients": numbers(2 * count * (count - 1)), "rho": numbers(pairs),
                "prob_a": [-abs(value) for value in numbers(pairs)], "prob_b": numbers(pairs)})
    yield ("SVMRegressor", [x], [f],
           {"coefficients": numbers(4), "rho": [0.2], "kernel_type": "LINEAR", "kernel_params": [0.0] * 3,
            "n_supports": 0})


def feature_cases():
    f, i = np.float32, np.int64
    x, whole = rows(missing=False), uniform(5, FEATURES, low=-2, high=4, dtype=np.int64)
    yield "Scaler", [x], [f], {"offset": [0.5, 1.0, -1.0, 0.0], "scale": [2.0, 1.0, 0.5, -1.0]}
    yield "Scaler", [whole], [f], {"offset": [0.5], "scale": [2.0]}
    for norm in ("MAX", "L1", "L2"):
        yield "Normalizer", [np.vstack([x, np.zeros((1, FEATURES), f)])], [f], {"norm": norm}
    yield ("Imputer", [rows()], [f],
           {"imputed_value_floats": [1.0, 2.0, 3.0, 4.0], "replaced_value_float": float("nan")})
    yield "Imputer", [x], [f], {"imputed_value_floats": [9.0], "replaced_value_float": 0.25}
    yield "Imputer", [whole], [i], {"imputed_value_int64s": [7], "replaced_value_int64": 0}
    yield "Binarizer", [x], [f], {"threshold": 0.25}
    yield "ArrayFeatureExtractor", [x, np.array([2, 0], i)], [f], {}
    yield "ArrayFeatureExtractor", [x[0], np.array([3], i)], [f], {}
    yield "FeatureVectorizer", [x, rows(missing=False)[:, :2]], [f], {"inputdimensions": [4, 2]}
    yield "OneHotEncoder", [whole], [f], {"cats_int64s": [-1, 0, 3], "zeros": 1}
    yield ("LabelEncoder", [whole], [f],
           {"keys_int64s": [-1, 0, 3], "values_floats": [0.5, 1.5, 2.5], "default_float": -9.0})
    yield ("LabelEncoder", [rows()], [i],
           {"keys_floats": [-0.5, 0.25, 0.5], "values_int64s": [10, 20, 30], "default_int64": 5})


def dynamic_cases():
    rng, f, batch = np.random.default_rng(2), np.float32, {"symbols": ((0, ("n", None)),)}
    x, outputs = rows(missing=False), [np.int64, np.float32]
    yield ("TreeEnsembleClassifier", [rows()], outputs,
           forest(rng, 3, 2, "class", [0, 1, 2]) | {"classlabels_int64s": [3, 5, 7]} | batch)
    yield ("LinearClassifier", [x], outputs,
           {"coefficients": [1.0, 2.0, 3.0, 4.0], "intercepts": [0.5], "classlabels_ints": [0, 1]} | batch)
    yield ("SVMRegressor", [x], [f],
           {"kernel_type": "RBF", "kernel_params": [0.3, 0.0, 0.0], "n_supports": 1, "rho": [0.2],
            "support_vectors": [0.5, 1.0, 1.5, 2.0], "coefficients": [2.0]} | batch)
    yield ("LabelEncoder", [uniform(5, FEATURES, low=-2, high=4, dtype=np.int64)], [f],
           {"keys_int64s": [-1, 0, 3], "values_floats": [0.5, 1.5, 2.5], "default_float": -9.0} | batch)


if __name__ == "__main__":
    families = tree_cases, linear_cases, feature_cases, dynamic_cases
    sys.exit(run_cases("ai.onnx.ml", families, sys.argv[1], sys.argv[2:]))
