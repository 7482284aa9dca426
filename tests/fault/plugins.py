#!/usr/bin/env python3
"""Custom operators through the programs: plugins.py BUILD.

An engine of docs/examples/window_mean.c is built and run at several shapes and thread counts against numpy; without its
plugin, or with a file that is none, both programs end with their status and words.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

SIZE, STRIDE = 4, 3


def save_model(path):
    node = helper.make_node("WindowMean", ["x"], ["means"], name="windows", domain="com.example", size=SIZE, stride=STRIDE)
    value = helper.make_tensor_value_info
    graph = helper.make_graph([node, helper.make_node("Neg", ["means"], ["y"])], "g",
                              [value("x", TensorProto.FLOAT, ["n", "h"])], [value("y", TensorProto.FLOAT, None)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


def expected(x):
    windows = np.lib.stride_tricks.sliding_window_view(x, SIZE, axis=1)[:, ::STRIDE]
    return -windows.astype(np.float64).mean(axis=2).astype(np.float32)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    plugin = f"--plugins={build}/lib/window_mean.so"
    faults = []

    def run(status, words, program, *flags):
        done = subprocess.run([build / "bin" / program, *flags], capture_output=True, text=True, timeout=60)
        if done.returncode != status or words not in done.stdout + done.stderr:
            faults.append(f"{program} {flags}: status {done.returncode}, wanted {status} and '{words}': "
                          f"{done.stdout}{done.stderr}")

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        save_model("model.onnx")
        pathlib.Path("text.so").write_text("no library")
        shapes = ["--minShapes=x:1x4", "--optShapes=x:8x32", "--maxShapes=x:64x64"]
        unknown = "the domain 'com.example' is not known"
        run(1, unknown, "buildengine", "--onnx=model.onnx", "--saveEngine=e", *shapes)
        run(1, "not supported: node 'windows', com.example::WindowMean", "buildengine", "--onnx=model.onnx", "--check")
        run(0, "The model is supported", "buildengine", "--onnx=model.onnx", "--check", plugin, *shapes)
        for flags, words in ((["--plugins=absent.so"], "--plugins=absent.so: there is no such file"),
                             (["--plugins=text.so"], "--plugins=text.so: it cannot be loaded"),
                             ([f"--plugins={build}/lib/no_entry.so"], "it does not export planwright_plugin()"),
                             ([f"--plugins={build}/lib/other_abi.so"], "was made for ABI 2")):
            run(1, words, "buildengine", "--onnx=model.onnx", "--saveEngine=e", *shapes, *flags)
        run(2, "would overwrite --plugins=text.so", "buildengine", "--onnx=model.onnx", "--saveEngine=text.so", *shapes,
            "--plugins=text.so")
        run(1, "the window fits the row (4 <= h, 4 and 3 there); input x needs at least 4 at axis 1", "buildengine",
            "--onnx=model.onnx", "--saveEngine=e", "--minShapes=x:1x3", *shapes[1:], plugin)
        run(1, "a fault of a plugin", "buildengine", "--onnx=model.onnx", "--saveEngine=e", *shapes,
            f"--plugins={build}/lib/shrinking.so")
        if pathlib.Path("e").exists():
            faults.append("a failed build left an engine")
        run(0, "Created engine", "buildengine", "--onnx=model.onnx", "--saveEngine=e", *shapes, plugin,
            "--builderOptimizationLevel=1", "--exportLayerInfo=layers.json", "--timingCacheFile=cache")
        if "plugin:com.example::WindowMean" not in pathlib.Path("layers.json").read_text():
            faults.append("--exportLayerInfo does not name the plugin's kernel")
        run(0, "Created engine", "buildengine", "--onnx=model.onnx", "--saveEngine=again", *shapes, plugin,
            "--builderOptimizationLevel=1", "--skipInference", "--timingCacheFile=cache")
        if pathlib.Path("e").read_bytes() != pathlib.Path("again").read_bytes():
            faults.append("the same model, plugin and timing cache gave other bytes")
        run(1, "needs the custom operator com.example::WindowMean (version 1), which is not registered", "runengine",
            "--loadEngine=e")
        run(2, "would overwrite --plugins=./text.so", "runengine", "--loadEngine=e", "--plugins=./text.so",
            "--saveOutputs=text.so")
        run(1, "--plugins=absent.so", "runengine", "--loadEngine=e", "--plugins=absent.so")
        for rows, length in ((1, 4), (64, 64), (33, 21)):
            x = np.random.default_rng(rows).standard_normal((rows, length)).astype(np.float32)
            np.save("x.npy", x)
            for threads in (1, 2):
                run(0, "PASSED", "runengine", "--loadEngine=e", plugin, "--loadInputs=x:x.npy", "--saveOutputs=y.npz",
                    f"--threads={threads}", "--duration=0", "--warmUp=0", "--iterations=1")
                y = np.load("y.npz")["y"]
                if y.shape != expected(x).shape or not np.allclose(y, expected(x), rtol=1e-6, atol=1e-6):
                    faults.append(f"{rows}x{length} at {threads} threads: wrong values")
    print("\n".join(faults) or "custom operators are built, run and refused as they should")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
