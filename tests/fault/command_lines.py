#!/usr/bin/env python3
"""Command lines and files that are wrong: command_lines.py BUILD.

Each must end with its exit status and its words, quickly, as the last line says FAILED, and leave every file as it was.
"""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def save_model(path, nodes, inputs, outputs, opset=17):
    infos = [[helper.make_tensor_value_info(*value) for value in values] for values in (inputs, outputs)]
    model = helper.make_model(helper.make_graph(nodes, "g", *infos), opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 8
    onnx.save(model, path)


def save_models():
    relu = [helper.make_node("Relu", ["x"], ["y"])]
    save_model("static.onnx", relu, [("x", FLOAT, [2, 3])], [("y", FLOAT, [2, 3])])
    save_model("dynamic.onnx", relu, [("x", FLOAT, ["n", 3])], [("y", FLOAT, ["n", 3])])
    save_model("both.onnx", relu, [("x", FLOAT, [2, 3])], [("y", FLOAT, [2, 3]), ("x", FLOAT, [2, 3])])
    save_model("through.onnx", [], [("x", FLOAT, [2, 3])], [("x", FLOAT, [2, 3])])
    save_model("newer.onnx", relu, [("x", FLOAT, [2, 3])], [("y", FLOAT, [2, 3])], opset=999)
    save_model("reshape.onnx", [helper.make_node("Reshape", ["x", "shape"], ["y"])],
               [("x", FLOAT, [2, 6]), ("shape", INT64, [2])], [("y", FLOAT, ["a", "b"])])
    np.save("x.npy", np.zeros((2, 3), np.float32))
    np.save("double.npy", np.zeros((2, 3), np.float64))


BUILD = ["buildengine", "--saveEngine=new.engine", "--skipInference"]
RUN = ["runengine", "--loadEngine=static.engine", "--duration=0", "--warmUp=0"]
# (command, exit status, words)
CASES = [
    ([*BUILD, "--onnx=static.onnx", "--shapes="], 2, "--shapes needs a value"),
    ([*BUILD, "--onnx=static.onnx", "--shapes=2x3x4"], 2, "write --shapes=x:2x3x4"),
    ([*BUILD, "--onnx=static.onnx", "--shapes=x:8x3"], 2, "the model's batch (axis 0) is fixed at 2"),
    ([*BUILD, "--onnx=dynamic.onnx", "--shapes=x:1x3,x:2x3"], 2, "gives 'x' twice"),
    ([*BUILD, "--onnx=dynamic.onnx", "--shapes=x:1x4"], 2, "axis 1 is fixed at 3"),
    ([*BUILD, "--onnx=dynamic.onnx", "--shapes=x:-1x3"], 2, "a dimension cannot be -1"),
    ([*BUILD, "--onnx=dynamic.onnx"], 2, "add --shapes='x':?x3"),
    ([*BUILD, "--onnx=static.onnx", "--avgTiming=0"], 2, "a whole number from 1 to 10000, not '0'"),
    ([*BUILD, "--onnx=static.onnx", "--budget=fast"], 2, "--budget: 'fast' is no time"),
    ([*BUILD, "--onnx=static.onnx", "--maxTactics=0"], 2, "a whole number of at least 1, not '0'"),
    ([*BUILD, "--onnx=static.onnx", "--explain=absent"], 2, "no layer's name contains 'absent'"),
    ([*BUILD, "--onnx=static.onnx", "--loadInputs=x:x.npy"], 2, "--loadInputs is a flag of runengine"),
    ([*BUILD, "--onnx=static.onnx", "--exportLayerInfo=static.onnx"], 2, "would overwrite --onnx=static.onnx"),
    ([*BUILD, "--onnx=static.onnx", "--exportLayerInfo=./new.engine"], 2, "would overwrite --saveEngine"),
    (["buildengine", "--onnx=static.onnx", "--saveEngine=static.onnx"], 2, "would overwrite --onnx"),
    (["buildengine", "--onnx=static.onnx", "--saveEngine=/dev/null"], 1, "not a file that can be replaced"),
    ([*BUILD, "--onnx=static.onnx", "--timingCacheFile=no/such/cache"], 1, "no/such/cache: cannot be written"),
    ([*BUILD, "--onnx=static.onnx", "--exportLayerInfo=no/such/file"], 1, "no/such/file: cannot be written"),
    (["buildengine", "--onxn=static.onnx", "--saveEngine=new.engine"], 2, "did you mean --onnx?"),
    ([*BUILD, "--onnx=static.onnx", "--stronglyTyped"], 2, "--stronglyTyped is not available"),
    ([*BUILD, "--onnx=newer.onnx"], 1, "the model uses opset 999"),
    ([*BUILD, "--onnx=reshape.onnx", "--shapes=shape:2x3x2"], 2, "input 'shape' takes 2 values"),
    (["runengine", "--loadEngine=absent.engine"], 1, "absent.engine: cannot be opened"),
    ([*RUN, "--duration=nan"], 2, "--duration"),
    ([*RUN, "--shapes=x:3x3"], 1, "axis 0 is fixed at 2"),
    ([*RUN, "--loadInputs=x:."], 1, ". is a folder"),
    ([*RUN, "--loadInputs=x:x.npy,x:x.npy"], 2, "gives input 'x' twice"),
    ([*RUN, "--loadInputs=x:double.npy"], 1, "double.npy holds fp64; input 'x' is fp32"),
    ([*RUN, "--loadInputs=x:x.npy", "--saveOutputs=x.npy"], 2, "would overwrite --loadInputs=x.npy"),
    ([*RUN, "--exportTimes=static.engine"], 2, "would overwrite --loadEngine"),
    ([*RUN, "--exportTimes=t.json", "--exportProfile=t.json"], 2, "would overwrite --exportTimes"),
    ([*RUN, "--testData=absent"], 1, "there is no such folder"),
    ([*RUN, "--testData=.", "--dumpOutput"], 2, "--dumpOutput contradicts --testData"),
    ([*RUN, "--accuracyAlgorithm=cos", "--accuracyThreshold=-1"], 2, "at least 0"),
]
# What must go well, and words of its output.
GOOD = [
    ([*BUILD, "--onnx=both.onnx"], "output 'x' is also an input"),
    (["runengine", "--loadEngine=new.engine", "--duration=0", "--dumpOutput"], "x:out: fp32 2x3"),
    ([*BUILD, "--onnx=static.onnx", "--budget=5", "--maxTactics=2", "--explain"], "Layers timed: 1 (0 cut short)"),
    ([*BUILD, "--onnx=static.onnx", "--budget=1ms"], "Left to the best guess: 1"),
    ([*BUILD, "--onnx=static.onnx", "--explain", "--quiet"], ""),
    ([*BUILD, "--onnx=through.onnx", "--explain"], "Created engine"),
    (["runengine", "--loadEngine=new.engine", "--verify"], "every byte checks"),
    ([*BUILD, "--onnx=reshape.onnx", "--minShapes=shape:1x12", "--maxShapes=shape:1x12"], "Created engine"),
    ([*BUILD, "--onnx=reshape.onnx", "--minShapes=shape:1x1", "--optShapes=shape:3x4", "--maxShapes=shape:12x12"],
     "Created engine"),
    (["runengine", "--loadEngine=new.engine", "--duration=0", "--dumpOutput"], "y: fp32 3x4"),
    (["runengine", "--loadEngine=new.engine", "--duration=0", "--dumpOutput", "--shapes=shape:6x2"], "y: fp32 6x2"),
    (["runengine", "--loadEngine=new.engine", "--duration=0", "--dumpOutput", "--dumpProfile", "--quiet"], ""),
]


def run(build, command, file_limit=None):
    """file_limit: the most bytes that a file may have."""
    def limit():
        if file_limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))
    program = str(build / "bin" / command[0])
    return subprocess.run([program, *command[1:]], capture_output=True, text=True, timeout=60, preexec_fn=limit)


def contents():
    return {path: path.read_bytes() for path in pathlib.Path().rglob("*") if path.is_file()}


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        save_models()
        run(build, ["buildengine", "--onnx=static.onnx", "--saveEngine=static.engine", "--skipInference"])
        before = contents()
        for command, status, words in CASES:
            done = run(build, command)
            lines = done.stdout.splitlines()
            if done.returncode != status or words not in done.stderr:
                faults.append(f"{command}: status {done.returncode}, wanted {status} and '{words}': {done.stderr}")
            if not lines[-1].startswith("&&&& FAILED") or done.stderr.count("[E]") != 1:
                faults.append(f"{command}: not one message and FAILED: {done.stdout}{done.stderr}")
            if contents() != before:
                faults.append(f"{command}: files have changed")
        # FAULTS B22: a file size limit is met as a full disk is.
        done = run(build, [*BUILD, "--onnx=static.onnx"], file_limit=64)
        if done.returncode != 1 or "File too large" not in done.stderr or contents() != before:
            faults.append(f"a file size limit: status {done.returncode}: {done.stdout}{done.stderr}")
        for command, words in GOOD:
            done = run(build, command)
            if done.returncode != 0 or words not in done.stdout + done.stderr:
                faults.append(f"{command}: status {done.returncode}, wanted '{words}': {done.stdout}{done.stderr}")
            if "--quiet" in command and len(done.stdout.splitlines()) != 2:
                faults.append(f"{command}: --quiet leaves more than the first and last line: {done.stdout}")
    print("\n".join(faults) or f"{len(CASES)} wrong and {len(GOOD)} right command lines end as they should")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
