#!/usr/bin/env python3
"""Writes the node tests of the onnx package, which it makes in memory, to folders for the conformance program.

    write_node_tests.py FOLDER

FOLDER/<name>/{model.onnx, meta.json, test_data_set_N/input_K.pb, output_K.pb}. Takes seconds; does nothing when the
folder was written by the same versions of the packages that compute them and list of exceptions: exceptions.json beside
this script names the cases whose stored values are not the only right ones, each with its reason and what is compared
instead.
"""
import fnmatch
import json
import pathlib
import shutil
import sys
import warnings

import ml_dtypes
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


VERSIONS = " ".join(f"{package.__name__} {package.__version__}" for package in (onnx, np, ml_dtypes))
EXCEPTIONS = pathlib.Path(__file__).with_name("exceptions.json")


def write_case(folder, case, exceptions):
    folder.mkdir()
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    meta = {"rtol": case.rtol, "atol": case.atol}
    for exception in exceptions:
        if fnmatch.fnmatch(case.name, exception["cases"]):
            meta |= {key: value for key, value in exception.items() if key != "cases"}
    (folder / "meta.json").write_text(json.dumps(meta))
    graph = case.model.graph
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for prefix, values, declared in (("input", inputs, graph.input), ("output", outputs, graph.output)):
            for position, (value, info) in enumerate(zip(values, declared)):
                (data / f"{prefix}_{position}.pb").write_bytes(to_bytes(value, info.type))


def main(folder):
    folder = pathlib.Path(folder)
    stamp, written_for = folder / "written_for", f"{VERSIONS}\n{EXCEPTIONS.read_text()}"
    if stamp.exists() and stamp.read_text() == written_for:
        return
    if stamp.exists():
        shutil.rmtree(folder)
    if folder.exists() and any(folder.iterdir()):
        sys.exit(f"{folder} is not empty and was not written by this script: remove it first")
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    from onnx.backend.test.case.node import collect_testcases

    cases, exceptions = collect_testcases(), json.loads(EXCEPTIONS.read_text())
    for exception in exceptions:
        if not any(fnmatch.fnmatch(case.name, exception["cases"]) for case in cases):
            sys.exit(f"{EXCEPTIONS}: no case is named {exception['cases']}")
    for case in cases:
        write_case(folder / case.name, case, exceptions)
    stamp.write_text(written_for)
    print(f"{len(cases)} node tests of onnx {onnx.__version__} in {folder}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
