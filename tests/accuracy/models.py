"""What the accuracy tests share: the benchmark models, engines of them, and ONNX Runtime's answers."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "calib_data"))
from engine import Engine  # noqa: E402  (the path is set above)

# name -> input name -> the shape it is measured at
SHAPES = {
    "ppocr_cls": {"x": (1, 3, 48, 192)},
    "ppocrv4_rec": {"x": (1, 3, 48, 320)},
    "ppocrv4_det": {"x": (1, 3, 640, 640)},
    "resnet50": {"gpu_0/data_0": (1, 3, 224, 224)},
    "squeezenet": {"data_0": (1, 3, 224, 224)},
    "ddddocr_det": {"images": (1, 3, 416, 416)},
    "minilm_l3": {"input_ids": (1, 128), "attention_mask": (1, 128)},
    "minilm_l6_int8": dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), (1, 128)),
    "silero_vad": {"input": (1, 576), "state": (2, 1, 128), "sr": ()},
    "nsnet2_16k": {"input": (1, 100, 161)},
    "magika": {"bytes": (1, 2048)},
    "basic_pitch": {"serving_default_input_2:0": (1, 43844, 1)},
}

# name -> input name -> the value it has, where a model's meaning hangs on one
VALUES = {"silero_vad": {"sr": 16000}}


def flag(shapes, values=None):
    """name -> dims as a shape flag writes it; an input of `values` has its value in place of dims."""
    def text(name, dims):
        return str(values[name]) if values and name in values else "x".join(map(str, dims))
    return ",".join(f"'{name}':{text(name, dims)}" for name, dims in shapes.items())


def random_feeds(engine, shapes, rng, values=None):
    """Seeded inputs: normal floats, small integers, masks of ones whose rows end in padding, token types 0 and 1, and `values` as
    given."""
    feeds = {}
    for name, dims in shapes.items():
        dtype = engine.inputs[name]
        if values and name in values:
            feeds[name] = np.full(dims, values[name], dtype)
        elif "mask" in name:
            lengths = rng.integers(1, dims[1] + 1, dims[0])
            lengths[0] = dims[1]
            feeds[name] = (np.arange(dims[1])[None] < lengths[:, None]).astype(dtype)
        elif "type" in name:
            feeds[name] = rng.integers(0, 2, dims).astype(dtype)
        elif dtype.kind in "iu":
            feeds[name] = rng.integers(0, 250, dims).astype(dtype)
        else:
            feeds[name] = rng.standard_normal(dims).astype(dtype)
    return feeds


def runtime(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda feeds: dict(zip(names, session.run(None, feeds)))


def difference(got, want):
    """Largest absolute difference of any output over that output's largest magnitude, or 0.01 where that is less: the
    text map of a noisy image is 1e-4 everywhere, and a sigmoid's rounding (1e-7) is no error of the network. Infinite
    for another shape or type, and where an output is no number."""
    worst = 0.0
    for name, w in want.items():
        g = got[name]
        if g.shape != w.shape or g.dtype != w.dtype:
            return float("inf")
        error = np.abs(g.astype(np.float64) - w.astype(np.float64)).max(initial=0)
        worst = np.maximum(worst, error / max(np.abs(w).max(initial=0), 0.01))  # of a NaN and a number, the NaN
    return float(worst) if np.isfinite(worst) else float("inf")


class Bench:
    """A build folder's programs and library, and a scratch folder for engines."""

    def __init__(self, build, models):
        self.build, self.models = pathlib.Path(build).resolve(), pathlib.Path(models).resolve()
        self._scratch = tempfile.TemporaryDirectory()
        self.scratch = pathlib.Path(self._scratch.name)

    def build_engine(self, name, *flags):
        """Builds at level 0 (nothing timed) unless the flags, which win, say otherwise; returns the engine's path."""
        file = self.scratch / f"{name}.engine"
        defaults = [f"--onnx={self.models / name}.onnx", f"--saveEngine={file}", "--builderOptimizationLevel=0",
                    "--skipInference", "--quiet"]
        given = {text.split("=")[0] for text in flags}
        command = [str(self.build / "bin/buildengine"), *(d for d in defaults if d.split("=")[0] not in given), *flags]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{name}: buildengine exited with {done.returncode}: {done.stderr.strip()}")
        return file

    def open(self, file, threads=0):
        return Engine(self.build / "lib/libplanwright.so", file, threads)
