#!/usr/bin/env python3
"""Precisions that the user pins, through the programs: layer_pins.py BUILD.

The engine's layers are as they are pinned, pins that cannot hold fail the build or warn, and TensorRT's calibration
cache quantises what it names.
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANNELS = 32


def save_model(path):
    """x -> conv1 -> relu1 -> conv2 -> relu2 -> conv3 -> softmax."""
    rng = np.random.default_rng(1)
    nodes, weights, tensor = [], [], "x"
    for i in (1, 2, 3):
        data = rng.normal(0, 0.06, (CHANNELS, CHANNELS, 3, 3)).astype(np.float32)
        weights.append(numpy_helper.from_array(data, f"w{i}"))
        nodes.append(helper.make_node("Conv", [tensor, f"w{i}"], [f"c{i}"], f"conv{i}", pads=[1, 1, 1, 1]))
        if i < 3:
            nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}"], f"relu{i}"))
        tensor = f"r{i}"
    nodes.append(helper.make_node("Softmax", ["c3"], ["y"], "softmax", axis=1))
    shape = [1, CHANNELS, 16, 16]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)
    np.savez(path.with_suffix(".npz"), x=rng.normal(0, 1, (16, *shape[1:])).astype(np.float32))


class Bench:
    def __init__(self, build, folder):
        self.bin, self.folder, self.failures = pathlib.Path(build) / "bin", pathlib.Path(folder), []
        save_model(self.folder / "model.onnx")

    def build(self, *flags, timed=False):
        """Exit status, all that was printed, and the layers by the first ONNX node that has a name here."""
        command = [self.bin / "buildengine", f"--onnx={self.folder / 'model.onnx'}", "--verbose",
                   f"--saveEngine={self.folder / 'model.engine'}", f"--exportLayerInfo={self.folder / 'layers.json'}",
                   "--skipInference", "--threads=1", *flags]
        if not timed:
            command.append("--builderOptimizationLevel=0")
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        info = json.loads((self.folder / "layers.json").read_text()) if done.returncode == 0 else {}
        layers = {node: layer for layer in info.get("Layers", []) for node in layer["Onnx"]}
        return done.returncode, done.stdout, layers, info

    def expect(self, what, holds, output=""):
        print(f"{'ok' if holds else 'WRONG'}: {what}")
        if not holds:
            self.failures.append(what)
            print(output)


def precisions(layers):
    return [layers[f"conv{i}"]["Precision"] for i in (1, 2, 3)] if layers else None


def check_pins(bench):
    code, output, layers, info = bench.build("--int8=perfOnly")
    bench.expect("all is int8 at level 0", precisions(layers) == ["int8"] * 3, output)
    mark = "Precision: int8: 3 of 3 layers, made-up ranges: outputs mean nothing"
    bench.expect("the report has the mark", mark in output, output)
    bench.expect("a row a layer", [row["Name"] for row in info["Sensitivity"]] == ["conv1", "conv2", "conv3"], output)
    run = subprocess.run([bench.bin / "runengine", f"--loadEngine={bench.folder / 'model.engine'}", "--inspect"],
                         capture_output=True, text=True)
    bench.expect("runengine prints the mark", mark in run.stdout, run.stdout)

    code, output, layers, _ = bench.build("--int8=perfOnly", "--layerPrecisions=conv*:fp32,conv2:int8",
                                          "--precisionConstraints=obey")
    bench.expect("one layer is int8", precisions(layers) == ["fp32", "int8", "fp32"], output)
    shown = [layers[name].get("Pinned") for name in ("conv1", "conv2")] if layers else None
    bench.expect("pins are shown", shown == ["fp32", "int8"], output)
    code, output, layers, _ = bench.build("--int8=perfOnly", "--layerOutputTypes=relu1:fp32",
                                          "--precisionConstraints=obey")
    bench.expect("what relu1 makes stays fp32", precisions(layers) == ["int8", "fp32", "int8"], output)
    code, output, layers, _ = bench.build("--int8=perfOnly", "--layerPrecisions=relu1:fp32")
    bench.expect("relu1's pin is conv1's", precisions(layers) == ["fp32", "int8", "int8"], output)

    samples = f"--calibData={bench.folder / 'model.npz'}"
    code, output, layers, _ = bench.build("--int8", samples, "--layerPrecisions=conv1:fp32,conv2:int8", timed=True)
    bench.expect("timing leaves pins alone", code == 0 and precisions(layers)[:2] == ["fp32", "int8"], output)


def check_refusals(bench):
    code, output, *_ = bench.build("--int8=perfOnly", "--layerPrecisions=softmax:int8", "--precisionConstraints=obey")
    why = "layer softmax is pinned to int8 and computes in fp32"
    bench.expect("softmax cannot be int8", code == 1 and why in output, output)
    code, output, layers, _ = bench.build("--int8=perfOnly", "--layerPrecisions=softmax:int8")
    bench.expect("which prefer warns of", code == 0 and "pins that do not hold: layer softmax" in output, output)
    code, output, *_ = bench.build("--layerPrecisions=conv4:fp32")
    bench.expect("a name that no layer has", code == 2 and "did you mean 'conv1'?" in output, output)
    samples = f"--calibData={bench.folder / 'model.npz'}"
    strict = ("--int8", samples, "--maxDrop=0.0000001%", "--layerPrecisions=conv2:int8")
    code, output, *_ = bench.build(*strict, "--precisionConstraints=obey")
    bench.expect("an obeyed pin that is too far off", code == 1 and "pinned to int8 alone outputs are off by" in output,
                 output)
    code, output, layers, _ = bench.build(*strict)
    bench.expect("a preferred one is dropped", code == 0 and "these pins are dropped" in output, output)
    code, output, layers, _ = bench.build("--layerPrecisions=conv1:int8", "--precisionConstraints=none")
    bench.expect("ignored pins", code == 0 and "are ignored" in output and precisions(layers) == ["fp32"] * 3, output)


def check_tensorrt_cache(bench):
    cache = bench.folder / "trt.cache"
    line = lambda name, scale: f"{name}: {struct.pack('>f', scale).hex()}\n"
    text = "TRT-100300-EntropyCalibration2\n" + line("x", 4 / 127) + line("r1", 4 / 127) + line("elsewhere", 1)
    cache.write_text(text)
    code, output, layers, _ = bench.build("--int8", f"--calib={cache}")
    bench.expect("layers whose tensors are named are int8", precisions(layers) == ["int8", "int8", "fp32"], output)
    warning = "1 of 3 names are of no tensor of this model (first: elsewhere)"
    bench.expect("other names are warned of", warning in output, output)
    code, output, layers, _ = bench.build("--int8", f"--calib={cache}", f"--calibData={bench.folder / 'model.npz'}",
                                          "--maxDrop=5%")
    bench.expect("samples calibrate the others", precisions(layers) == ["int8"] * 3, output)
    bench.expect("the cache is left alone", cache.read_text() == text)
    cache.write_text("TRT-100300-EntropyCalibration2\n" + line("elsewhere", 1))
    code, output, *_ = bench.build("--int8", f"--calib={cache}")
    bench.expect("a cache of another model", code == 1 and "knows no tensor of this model" in output, output)


def main(build):
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(build, folder)
        check_pins(bench)
        check_refusals(bench)
        check_tensorrt_cache(bench)
        return len(bench.failures)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
