#!/usr/bin/env python3
"""A model that ONNX Runtime's quantiser made, against exact arithmetic: quantised.py BUILD MODELS NAME.

Per channel, uint8 by int8, Q/DQ. Each quantised tensor that an engine gives is within one step of what the model makes of
the engine's levels before it, computed by ONNX's reference evaluator with float64 in between: there sums of products of
levels are exact to far less than a step, and no optimisation is in the way. (Only from one tensor to the next: a number half
way between two levels, as erf + 1 often is in an encoder, goes to one or the other, and a normalisation behind makes many
steps of one.) So for an engine that gives all of them, and for one that gives those that contractions multiply, which keeps
what is between fused as in the engine of the model as it is: their outputs are the same bits. For squeezenet and minilm_l3.
"""
import sys

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from int8_peers import prepare_for_onnxruntime
from int8_tasks import Sentences
from models import SHAPES, Bench, flag

SAMPLES = 4


def in_float64(model):
    """The same model with float64 for float32: operators of the reference evaluator do not mix types."""
    float32, float64 = onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE

    def widen(tensor):
        if tensor.data_type == float32:
            tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor).astype(np.float64), tensor.name))

    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    for initial in wide.graph.initializer:
        widen(initial)
    for node in wide.graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                widen(attribute.t)
            elif node.op_type == "Cast" and attribute.name == "to" and attribute.i == float32:
                attribute.i = float64
    return wide


class DequantizeLinear(OpRun):
    """As ONNX says, in float64."""
    op_domain = ""

    def _run(self, x, scale, zero=None, axis=1, block_size=0, output_dtype=0):
        shape = [1] * x.ndim
        if scale.ndim == 1 and scale.size > 1:
            shape[axis] = scale.size
        zero = 0 if zero is None else zero.astype(np.float64).reshape(shape if zero.size > 1 else ())
        return ((x.astype(np.float64) - zero) * scale.astype(np.float64).reshape(shape if scale.size > 1 else ()),)


def make_quantize(levels, faults):
    """QuantizeLinear as ONNX says, to the nearest level, of two the even one, of float64 and where scales are single numbers;
    `levels` are the engine's, of tensors that it gives: compared, and what the evaluator goes on with."""

    class QuantizeLinear(OpRun):
        op_domain = ""

        def _run(self, x, scale, zero, axis=1, saturate=1, block_size=0, output_dtype=0, precision=0):
            ends, name = np.iinfo(zero.dtype), self.onnx_node.output[0]
            exact = np.clip(np.rint(x / scale.astype(np.float64)) + zero.astype(np.float64), ends.min, ends.max)
            got = levels.get(name, exact.astype(zero.dtype))
            apart = np.abs(got - exact).max() if got.shape == exact.shape else np.inf
            if not apart <= 1:
                faults.append(f"{name}: {apart} steps off")
            QuantizeLinear.differing += int((got != exact).sum())
            return (got,)

    QuantizeLinear.differing = 0
    return QuantizeLinear


def images():
    """Smooth ones with noise, as photographs are."""
    rng = np.random.default_rng(3)
    for _ in range(SAMPLES):
        coarse = rng.standard_normal((1, 3, 14, 14)).repeat(16, 2).repeat(16, 3)
        yield {"data_0": (coarse + 0.2 * rng.standard_normal(coarse.shape)).astype(np.float32)}


def sentences():
    """Padded to one length: what is masked counts too."""
    for feeds, _ in list(Sentences(None).samples(None, "calibration"))[:SAMPLES]:
        ids = feeds["input_ids"][0]
        padded = np.zeros((2, 1, 32), np.int64)
        padded[0, 0, :len(ids)], padded[1, 0, :len(ids)] = ids, 1
        yield dict(zip(("input_ids", "attention_mask"), padded))


MODELS = {"squeezenet": (SHAPES["squeezenet"], images),
          "minilm_l3": (dict.fromkeys(("input_ids", "attention_mask"), (1, 32)), sentences)}


class Reader(CalibrationDataReader):
    def __init__(self, samples):
        self._left = iter(samples)

    def get_next(self):
        return next(self._left, None)


def quantise(path, samples, scratch):
    prepare_for_onnxruntime(path, scratch / "prepared.onnx")
    quantize_static(str(scratch / "prepared.onnx"), str(scratch / "quantised.onnx"), Reader(samples),
                    quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8)
    return onnx.load(scratch / "quantised.onnx")


def all_levels(model):
    return [node.output[0] for node in model.graph.node if node.op_type == "QuantizeLinear"]


def multiplied_levels(model):
    """Those that contractions by constants multiply."""
    makers = {output: node for node in model.graph.node for output in node.output}
    constants = {initial.name for initial in model.graph.initializer}
    names = []
    for node in model.graph.node:
        if node.op_type not in ("Conv", "MatMul", "Gemm"):
            continue
        sources = [makers[operand].input[0] if operand in makers and makers[operand].op_type == "DequantizeLinear" else None
                   for operand in node.input[:2]]
        if None not in sources and sources[0] not in constants and sources[1] in constants:
            names.append(sources[0])
    return list(dict.fromkeys(names))


def expose(model, names):
    exposed = onnx.ModelProto()
    exposed.CopyFrom(model)
    exposed.graph.output.extend(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.UINT8, None) for name in names)
    return exposed


def find_wrong_outputs(model, outputs, got_of, wanted):
    values = {initial.name: onnx.numpy_helper.to_array(initial) for initial in model.graph.initializer}
    steps = {node.output[0]: values[node.input[1]].item() for node in model.graph.node
             if node.op_type == "DequantizeLinear" and node.input[1] in values and values[node.input[1]].size == 1}
    for name in outputs:
        got, want = got_of[name], wanted[name]
        # One that is no dequantised tensor has no step of its own: a 255th of its width, which would be one.
        step = steps.get(name, (want.max() - want.min()) / 255) if got.dtype.kind == "f" else 1
        apart = np.abs(got.astype(np.float64) - want).max() / step
        print(f"  {name}: {apart:.2g} steps off at most")
        if not apart <= 1.0001:
            yield f"{name}: {apart:.2f} steps off"


def run_engine(bench, model, name, feeds):
    path = bench.scratch / "model.onnx"
    onnx.save(model, path)
    with bench.open(bench.build_engine(name, f"--onnx={path}", f"--shapes={flag(MODELS[name][0])}")) as engine:
        return engine(feeds)


def main(build, models, name):
    bench, samples = Bench(build, models), list(MODELS[name][1]())
    model = quantise(bench.models / f"{name}.onnx", samples, bench.scratch)
    outputs, faults = [output.name for output in model.graph.output], []
    plain = run_engine(bench, model, name, samples[0])
    feeds = {name: x.astype(np.float64) if x.dtype == np.float32 else x for name, x in samples[0].items()}
    for choose in all_levels, multiplied_levels:
        names = choose(model)
        exposed = expose(model, names)
        got = run_engine(bench, exposed, name, samples[0])
        quantize = make_quantize({tensor: got[tensor] for tensor in names}, faults)
        evaluator = ReferenceEvaluator(in_float64(exposed), new_ops=[DequantizeLinear, quantize])
        wanted = dict(zip((output.name for output in exposed.graph.output), evaluator.run(None, feeds)))
        count = sum(got[tensor].size for tensor in names)
        print(f"  {quantize.differing} of {count} levels of {len(names)} tensors are another than in exact arithmetic")
        if sum(len(np.unique(got[tensor])) >= 16 for tensor in names) < len(names) / 2:
            faults.append("most tensors have hardly any levels, and say nothing")
        faults += find_wrong_outputs(model, outputs, got, wanted)
    faults += [f"{output}: changes when the levels of contractions are outputs too" for output in outputs
               if plain[output].tobytes() != got[output].tobytes()]
    print("\n".join(faults) or f"{name}: passed")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
