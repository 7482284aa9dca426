#!/usr/bin/env python3
"""Writes the node tests of the pinned onnx package, which it makes in memory, to folders for the conformance program.

    write_node_tests.py FOLDER

FOLDER/<name>/{model.onnx, meta.json, test_data_set_N/input_K.pb, output_K.pb}. Takes seconds; does nothing when the
folder was written by the same onnx version.
"""
import json
import pathlib
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper


def to_bytes(value, type_proto):
    """The serialised TensorProto, SequenceProto or OptionalProto of a test's value."""
    if isinstance(value, (onnx.TensorProto, onnx.SequenceProto, onnx.OptionalProto)):
        return value.SerializeToString()
    kind = type_proto.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(value, "").SerializeToString()
    if kind == "optional_type":
        return numpy_helper.from_optional(value, "").SerializeToString()
    return numpy_helper.from_array(np.asarray(value), "").SerializeToString()


def write_case(folder, case):
    folder.mkdir()
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    (folder / "meta.json").write_text(json.dumps({"rtol": case.rtol, "atol": case.atol}))
    graph = case.model.graph
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for prefix, values, declared in (("input", inputs, graph.input), ("output", outputs, graph.output)):
            for position, (value, info) in enumerate(zip(values, declared)):
                (data / f"{prefix}_{position}.pb").write_bytes(to_bytes(value, info.type))


def main(folder):
    folder = pathlib.Path(folder)
    stamp = folder / "onnx_version"
    if stamp.exists() and stamp.read_text() == onnx.__version__:
        return
    if folder.exists() and any(folder.iterdir()):
        sys.exit(f"{folder} is not empty and was not written for onnx {onnx.__version__}: remove it first")
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    from onnx.backend.test.case.node import collect_testcases

    cases = collect_testcases()
    for case in cases:
        write_case(folder / case.name, case)
    stamp.write_text(onnx.__version__)
    print(f"{len(cases)} node tests of onnx {onnx.__version__} in {folder}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
