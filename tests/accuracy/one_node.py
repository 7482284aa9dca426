"""What the tests of single operators share: models of one node, and their outputs against ONNX Runtime's."""
from functools import partial

import numpy as np
import onnx
from onnx import helper, numpy_helper

from models import Bench, flag, runtime

RNG = np.random.default_rng(0)


def normal(*dims, dtype=np.float32):
    return RNG.standard_normal(dims).astype(dtype)


def uniform(*dims, low=0, high=256, dtype=np.uint8):
    return RNG.integers(low, high, dims).astype(dtype)


def f32(*values):
    return np.array(values[0] if len(values) == 1 else values, np.float32)


def u8(value):
    return np.array(value, np.uint8)


def i32(*values):
    return np.array(values, np.int32)


OPSETS = (("", 20), ("com.microsoft", 1), ("ai.onnx.ml", 3))
UNREAD = "unread"  # an output of the node that is none of the graph


class Fixed:
    """An input that is an initializer of the model."""

    def __init__(self, array):
        self.array = array


def model_of(op, inputs, outputs, domain, symbols=(), **attributes):
    """A model of one node, and what to feed it. `inputs`: arrays, None where one is not given; `outputs`: the numpy
    types, None where one is not wanted; `symbols`: (input, names of its dims, None for a fixed one) of dynamic ones."""
    names, declared, initializers, feeds = [], [], [], {}
    for i, given in enumerate(inputs):
        names.append("" if given is None else f"in{i}")
        if isinstance(given, Fixed):
            initializers.append(numpy_helper.from_array(given.array, names[-1]))
        elif given is not None:
            feeds[names[-1]] = given
            declared.append(
                helper.make_tensor_value_info(names[-1], helper.np_dtype_to_tensor_dtype(given.dtype), given.shape))
    results = ["" if dtype is None else f"out{i}" for i, dtype in enumerate(outputs)]
    made = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), None)
        for name, dtype in zip(results, outputs) if name and dtype != UNREAD
    ]
    for i, dims in symbols:
        info = next(info for info in declared if info.name == f"in{i}")
        for dim, name in zip(info.type.tensor_type.shape.dim, dims):
            if name:
                dim.dim_param = name
    node = helper.make_node(op, names, results, name="node", domain=domain, **attributes)
    graph = helper.make_graph([node], op, declared, made, initializers)
    opsets = [helper.make_opsetid(*opset) for opset in OPSETS]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), feeds


def close(got, want, tolerance):
    """Floats to the tolerance times the largest; quantised numbers may round to the neighbour."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    error = np.abs(got.astype(np.float64) - want.astype(np.float64)).max(initial=0)
    if want.dtype.kind in "iub":
        return error <= (1 if want.dtype.itemsize < 4 else 0)
    return error <= tolerance * max(np.abs(want).max(initial=0), 1)


def shape_flags(feeds, symbols):
    """A profile in which every dynamic dim goes from half to twice of what it is fed."""
    if not symbols:
        return []
    ranges = {"min": {}, "opt": {}, "max": {}}
    for i, names in symbols:
        own = feeds[f"in{i}"].shape
        ranges["min"][f"in{i}"] = [-(-n // 2) if name else n for n, name in zip(own, names)]
        ranges["opt"][f"in{i}"] = own
        ranges["max"][f"in{i}"] = [2 * n if name else n for n, name in zip(own, names)]
    return [f"--{end}Shapes={flag(shapes)}" for end, shapes in ranges.items()]


def check(bench, domain, number, case, tolerance):
    """`case`: operator, inputs, outputs, attributes and, where ONNX Runtime does not take these inputs, others that mean
    the same."""
    op, inputs, outputs, attributes, *others = case
    attributes = {"domain": domain, **attributes}
    name = f"{op}{number}"
    file = bench.models / f"{name}.onnx"
    model, feeds = model_of(op, others[0] if others else inputs, outputs, **attributes)
    onnx.save(model, file)
    want = runtime(file)(feeds)
    model, feeds = model_of(op, inputs, outputs, **attributes)
    onnx.save(model, file)
    flags = shape_flags(feeds, attributes.get("symbols", ()))
    with bench.open(bench.build_engine(name, *flags), 1) as engine:
        got = engine(feeds)
    wrong = [output for output in want if not close(got[output], want[output], tolerance)]
    for output in wrong:
        print(f"{name} {attributes}: {output} differs:\n{got[output]}\nwanted\n{want[output]}")
    return not wrong


def run_checks(checks):
    """Runs (title, function) pairs, each of which is right where it returns true. Returns whether one was not, or there
    were none."""
    passed = failed = 0
    for title, act in checks:
        try:
            good = act()
        except Exception as error:  # the next one is worth running all the same
            print(f"{title}: {type(error).__name__}: {str(error)[-400:]}")
            good = False
        passed, failed = passed + bool(good), failed + (not good)
    print(f"{passed} passed, {failed} failed")
    return failed > 0 or passed == 0


def run_cases(domain, families, build, names, tolerances={}):
    """Runs the cases that the families' functions give, those of the operators `names` where there are any. Returns
    whether one failed, or none ran."""
    bench = Bench(build, ".")
    bench.models = bench.scratch
    return run_checks((f"{case[0]}{number} {case[3]}",
                       partial(check, bench, domain, number, case, tolerances.get(case[0], 1e-4)))
                      for family in families for number, case in enumerate(family()) if not names or case[0] in names)
