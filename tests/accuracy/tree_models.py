#!/usr/bin/env python3
"""Models of scikit-learn and LightGBM as their exporters write them, at any batch, against ONNX Runtime.

    tree_models.py BUILD [NAME ...]
"""
import sys
import warnings
from functools import partial

import numpy as np
import onnx

from models import Bench, flag, runtime
from one_node import run_checks

warnings.filterwarnings("ignore")  # the exporters' own

# skl2onnx 1.20 writes booleans where onnx 1.23 wants integers.
_make_attribute = onnx.helper.make_attribute
onnx.helper.make_attribute = lambda key, value, *rest, **named: _make_attribute(
    key, [int(v) if isinstance(v, (bool, np.bool_)) else v for v in value] if isinstance(value, list) else value,
    *rest, **named)

FEATURES, BATCHES, TOLERANCE = 12, (1, 7, 1000), 5e-5
PROFILE = ("min", 1), ("opt", 1000), ("max", 1000)
RNG = np.random.default_rng(0)


# ---- Data

def table(rows=1000, missing=False):
    x = RNG.standard_normal((rows, FEATURES)).astype(np.float32)
    if missing:
        x[RNG.random(x.shape) < 0.15] = np.nan
    return x


def categories(rows=1000, columns=3, kinds=9):
    return RNG.integers(0, kinds, (rows, columns)).astype(np.float32)


def target(x, classes=0):
    """Numbers that follow from x with some noise, or classes of as many rows each."""
    known = np.nan_to_num(x)
    score = known[:, 0] * known[:, 1] + np.sin(3 * known[:, 2]) + 0.3 * RNG.standard_normal(len(x))
    if not classes:
        return score
    return np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)


# ---- Exporters

def sklearn_model(model, x, y=None, **options):
    """The model, fitted, as skl2onnx writes it."""
    import skl2onnx
    from skl2onnx.common.data_types import guess_data_type
    model.fit(x, y)
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if hasattr(last, "classes_") and type(last).__name__ != "LinearSVC":
        options["zipmap"] = False
    return skl2onnx.convert_sklearn(model, initial_types=[("x", type(guess_data_type(x)[0][1])([None, x.shape[1]]))],
                                    options={id(last): options} if options else None,
                                    target_opset={"": 18, "ai.onnx.ml": 3})


def lightgbm_model(model, x, y, **fit):
    import onnxmltools
    from onnxmltools.convert.common.data_types import FloatTensorType
    model.fit(x, y, **fit)
    return onnxmltools.convert_lightgbm(model, initial_types=[("x", FloatTensorType([None, x.shape[1]]))],
                                        zipmap=False, target_opset=15)


# ---- Models: name -> (model, inputs of 1000 rows)

MODELS = {}


def model(make):
    MODELS[make.__name__] = make
    return make


def classify(estimator, classes=3, missing=False, **options):
    x = table(missing=missing)
    return sklearn_model(estimator, x, target(x, classes), **options), x


def regress(estimator, missing=False, **options):
    x = table(missing=missing)
    return sklearn_model(estimator, x, target(x), **options), x


@model
def decision_tree():
    from sklearn.tree import DecisionTreeClassifier
    return classify(DecisionTreeClassifier(random_state=0))


@model
def decision_tree_regressor():
    from sklearn.tree import DecisionTreeRegressor
    return regress(DecisionTreeRegressor(max_depth=9, random_state=0))


@model
def random_forest_binary():
    from sklearn.ensemble import RandomForestClassifier
    return classify(RandomForestClassifier(60, random_state=0), 2)


@model
def random_forest():
    from sklearn.ensemble import RandomForestClassifier
    return classify(RandomForestClassifier(60, random_state=0), 5)


@model
def random_forest_regressor():
    from sklearn.ensemble import RandomForestRegressor
    return regress(RandomForestRegressor(60, random_state=0))


@model
def random_forest_of_two_numbers():
    from sklearn.ensemble import RandomForestRegressor
    x = table()
    return sklearn_model(RandomForestRegressor(20, random_state=0), x, np.stack([target(x), x[:, 3] ** 2], 1)), x


@model
def random_forest_of_doubles():
    from sklearn.ensemble import RandomForestClassifier
    x = table().astype(np.float64)
    return sklearn_model(RandomForestClassifier(20, random_state=0), x, target(x, 3)), x


@model
def extra_trees():
    from sklearn.ensemble import ExtraTreesClassifier
    return classify(ExtraTreesClassifier(60, random_state=0))


@model
def gradient_boosting_binary():
    from sklearn.ensemble import GradientBoostingClassifier
    return classify(GradientBoostingClassifier(n_estimators=50, random_state=0), 2)


@model
def gradient_boosting():
    from sklearn.ensemble import GradientBoostingClassifier
    return classify(GradientBoostingClassifier(n_estimators=30, random_state=0), 4)


@model
def gradient_boosting_regressor():
    from sklearn.ensemble import GradientBoostingRegressor
    return regress(GradientBoostingRegressor(n_estimators=80, random_state=0))


@model
def hist_gradient_boosting():
    from sklearn.ensemble import HistGradientBoostingClassifier
    return classify(HistGradientBoostingClassifier(max_iter=30, random_state=0), missing=True)


@model
def hist_gradient_boosting_binary():
    from sklearn.ensemble import HistGradientBoostingClassifier
    return classify(HistGradientBoostingClassifier(max_iter=50, random_state=0), 2, missing=True)


@model
def hist_gradient_boosting_regressor():
    from sklearn.ensemble import HistGradientBoostingRegressor
    return regress(HistGradientBoostingRegressor(max_iter=80, random_state=0), missing=True)


@model
def hist_gradient_boosting_of_categories():
    from sklearn.ensemble import HistGradientBoostingRegressor
    x = np.hstack([table(), categories()])
    learner = HistGradientBoostingRegressor(max_iter=40, random_state=0, categorical_features=[12, 13, 14])
    return sklearn_model(learner, x, target(x) + (x[:, 12] % 3) * 2), x


@model
def isolation_forest():
    from sklearn.ensemble import IsolationForest
    x = table()
    return sklearn_model(IsolationForest(n_estimators=30, random_state=0), x), x


@model
def ada_boost():
    from sklearn.ensemble import AdaBoostClassifier
    return classify(AdaBoostClassifier(n_estimators=20, random_state=0))


@model
def bagging():
    from sklearn.ensemble import BaggingClassifier
    return classify(BaggingClassifier(n_estimators=8, random_state=0))


@model
def voting():
    from sklearn.ensemble import RandomForestClassifier, VotingClassifier
    from sklearn.linear_model import LogisticRegression
    parts = [("forest", RandomForestClassifier(10, random_state=0)), ("line", LogisticRegression())]
    return classify(VotingClassifier(parts, voting="soft", flatten_transform=False))


# ---- Pipelines

@model
def scaled_logistic_regression():
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    return classify(make_pipeline(StandardScaler(), LogisticRegression()))


@model
def scaled_logistic_regression_binary():
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    return classify(make_pipeline(StandardScaler(), LogisticRegression()), 2)


@model
def imputed_forest():
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    steps = SimpleImputer(strategy="median"), StandardScaler(), RandomForestClassifier(20, random_state=0)
    return classify(make_pipeline(*steps), missing=True)


@model
def columns_of_numbers_and_categories():
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    x = np.hstack([table(missing=True), categories()])
    columns = ColumnTransformer([("numbers", make_pipeline(SimpleImputer(), StandardScaler()), list(range(12))),
                                 ("categories", OneHotEncoder(handle_unknown="ignore"), [12, 13, 14])])
    pipeline = make_pipeline(columns, GradientBoostingClassifier(n_estimators=20, random_state=0))
    return sklearn_model(pipeline, x, target(x, 3)), x


@model
def encoded_categories():
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    x = categories().astype(np.int64)
    return sklearn_model(make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()), x,
                         (x[:, 0] % 3).astype(np.int64)), x


@model
def ordinal_categories():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder
    from sklearn.tree import DecisionTreeClassifier
    x = categories().astype(np.int64)
    return sklearn_model(make_pipeline(OrdinalEncoder(), DecisionTreeClassifier(random_state=0)), x, x[:, 0] % 3), x


@model
def scaled_by_range():
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures
    return regress(make_pipeline(MinMaxScaler(), PolynomialFeatures(2), Ridge()))


@model
def robust_normalized():
    from sklearn.linear_model import Lasso
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, Normalizer, RobustScaler
    return regress(make_pipeline(RobustScaler(), MaxAbsScaler(), Normalizer(), Lasso(0.001)))


@model
def principal_components():
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC
    return classify(make_pipeline(PCA(5), SVC(kernel="rbf")))


@model
def selected_features():
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.feature_selection import SelectKBest
    from sklearn.pipeline import make_pipeline
    return classify(make_pipeline(SelectKBest(k=5), ExtraTreesClassifier(10, random_state=0)))


@model
def binned_features():
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer
    return classify(make_pipeline(KBinsDiscretizer(4, encode="onehot-dense"), LogisticRegression()))


@model
def support_vectors_with_probabilities():
    from sklearn.svm import SVC
    return classify(SVC(kernel="rbf", probability=True, random_state=0), 4)


@model
def support_vectors_with_probabilities_binary():
    from sklearn.svm import SVC
    return classify(SVC(kernel="poly", probability=True, random_state=0), 2)


@model
def support_vector_regressor():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR
    return regress(make_pipeline(StandardScaler(), SVR()))


@model
def linear_support_vectors():
    from sklearn.svm import LinearSVC
    return classify(LinearSVC())


@model
def nearest_neighbours():
    from sklearn.neighbors import KNeighborsClassifier
    return classify(KNeighborsClassifier(5))


@model
def naive_bayes():
    from sklearn.naive_bayes import GaussianNB
    return classify(GaussianNB())


@model
def perceptron():
    from sklearn.neural_network import MLPClassifier
    return classify(MLPClassifier((20, 10), max_iter=30, random_state=0))


@model
def clusters():
    from sklearn.cluster import KMeans
    x = table()
    return sklearn_model(KMeans(5, random_state=0), x), x


# ---- LightGBM

def boosted(name, **parameters):
    import lightgbm
    return getattr(lightgbm, name)(n_estimators=40, random_state=0, verbose=-1, n_jobs=1, **parameters)


@model
def lightgbm_binary():
    x = table(missing=True)
    return lightgbm_model(boosted("LGBMClassifier"), x, target(x, 2)), x


@model
def lightgbm():
    x = table(missing=True)
    return lightgbm_model(boosted("LGBMClassifier"), x, target(x, 4)), x


@model
def lightgbm_regressor():
    x = table(missing=True)
    return lightgbm_model(boosted("LGBMRegressor"), x, target(x)), x


@model
def lightgbm_zero_as_missing():
    x = np.where(RNG.random((1000, FEATURES)) < 0.3, 0, table()).astype(np.float32)
    return lightgbm_model(boosted("LGBMRegressor", zero_as_missing=True), x, target(x)), x


@model
def lightgbm_forest():
    x = table()
    learner = boosted("LGBMRegressor", boosting_type="rf", subsample=0.7, subsample_freq=1)
    return lightgbm_model(learner, x, target(x)), x


@model
def lightgbm_of_categories():
    x = np.hstack([table(), categories()])
    y = target(x) + (x[:, 12] % 3) * 2 + (x[:, 13] == 4)
    learner = boosted("LGBMRegressor", min_child_samples=5, min_data_per_group=5)
    return lightgbm_model(learner, x, y, categorical_feature=[12, 13, 14]), x


# ---- Comparison

def differences(got, want):
    """What differs, in words. A label may be another where two scores are level to rounding."""
    wrong = []
    scores = next((w for w in want.values() if w.dtype.kind == "f" and w.ndim == 2 and w.shape[1] > 1), None)
    for name, w in want.items():
        g = got[name]
        if g.shape != w.shape or g.dtype != w.dtype:
            wrong.append(f"{name} is {g.dtype}{g.shape}, not {w.dtype}{w.shape}")
        elif w.dtype.kind == "f":
            error = np.abs(g.astype(np.float64) - w).max() / max(np.abs(w).max(), 1)
            if not error <= TOLERANCE:
                wrong.append(f"{name} differs by {error:.1e}")
        else:
            close = np.zeros(len(w), bool)
            if scores is not None:
                best = np.sort(scores, 1)[:, -2:]
                close = best[:, 1] - best[:, 0] < 1e-5
            other = (g != w).reshape(len(w), -1).any(1) & ~close
            if other.any():
                wrong.append(f"{name} differs in {other.sum()} rows of {len(w)}, first {g[other][0]} for {w[other][0]}")
    return wrong


def check(bench, name, make):
    proto, x = make()
    file = bench.models / f"{name}.onnx"
    onnx.save(proto, file)
    shapes = [f"--{end}Shapes={flag({'x': (rows, x.shape[1])})}" for end, rows in PROFILE]
    compute = runtime(file)
    wrong = []
    with bench.open(bench.build_engine(name, *shapes), 2) as engine:
        for rows in BATCHES:
            want, got = compute({"x": x[:rows]}), engine({"x": x[:rows]})
            wrong += [f"at batch {rows}: {text}" for text in differences(got, want)]
    for text in wrong:
        print(f"{name} {text}")
    return not wrong


def main(build, *names):
    bench = Bench(build, ".")
    bench.models = bench.scratch
    return run_checks((name, partial(check, bench, name, MODELS[name])) for name in names or MODELS)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
