"""The runtimes that mobile_peers.py compares: how ONNX models become theirs, and processes that run one model each.

A program as well, for what may crash or print where it likes: `mobile_runtimes.py fold|mnn|run ...`, see the end.
"""
import importlib.util
import json
import os
import pathlib
import re
import select
import signal
import statistics
import subprocess
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = [sys.executable, __file__]
CONVERSION_SECONDS, ANSWER_SECONDS, WARM_UP_SECONDS = 300, 180, 0.3


class Failure(Exception):
    """What went wrong, in a few words for a cell of a table."""


def complaint(log):
    """The first line of a log that says what is wrong, if one does, without colours, times and spaces."""
    for line in log.splitlines():
        if re.search(r"not exist|not support|fail|error|invalid|expect", line, re.IGNORECASE) and "[W:" not in line:
            return re.sub(r"\x1b\[[0-9;]*m|^\[[0-9:]+\] *:\d+: *|.*\.\.\. +|\s+(?=\s)", "", line).strip()[:100]
    return None


def cause(code, log):
    """Why a process ended that should not have."""
    end = signal.Signals(-code).name if code < 0 else f"exit status {code}"
    said = complaint(log)
    return end if not said else f"{said} ({end})" if code < 0 else said


# ---- Conversion

def converted(command, folder, result):
    """Runs a converter in a folder, which then has its log and, unless it failed, the file `result`."""
    log = folder / "convert.log"
    with open(log, "w") as output:
        try:
            code = subprocess.run(command, cwd=folder, stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                                  timeout=CONVERSION_SECONDS).returncode
        except subprocess.TimeoutExpired:
            raise Failure(f"no result in {CONVERSION_SECONDS} s") from None
    if code or not (folder / result).exists():
        raise Failure(cause(code, log.read_text(errors="replace")))


def fold(source, target, shapes):
    """Fixes a model's input shapes and lets ONNX Runtime compute what is constant then. Models of before opset 13, whose
    Softmax flattens, are raised first: neither converter heeds that."""
    import onnx
    import onnx.version_converter
    import onnxruntime
    model = onnx.load(source)
    for value in model.graph.input:
        if value.name in shapes:
            value.type.tensor_type.shape.ClearField("dim")
            for size in shapes[value.name]:
                value.type.tensor_type.shape.dim.add().dim_value = size
    if next(opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx")) < 13:
        model = onnx.version_converter.convert_version(model, 17)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath, options.log_severity_level = target, 4
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def to_ncnn(model, folder, feeds):
    """Through pnnx's program, which does without the torch that the package asks for. It runs the model: on inputs that it
    gets, for indices that it makes up may be out of range."""
    (folder / "model.onnx").symlink_to(model)  # pnnx writes beside what it reads
    for i, array in enumerate(feeds.values()):
        np.save(folder / f"{i}.npy", array)
    inputs = ",".join(f"{i}.npy" for i in range(len(feeds)))
    package = importlib.util.find_spec("pnnx").submodule_search_locations[0]
    converted([f"{package}/pnnx", "model.onnx", f"input={inputs}", "fp16=0"], folder, "model.ncnn.bin")


def to_mnn(model, folder, _):
    converted([*PROGRAM, "mnn", str(model), "model.mnn"], folder, "model.mnn")


def mnn_convert(source, target):
    """Not MNN.tools, nor the program `mnnconvert`, which is the same: importing it runs `pip install` for the first pip in
    PATH, and each conversion is reported to its makers."""
    import _tools
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", source, "--MNNModel", target, "--bizCode", "bench"])


CONVERTERS = {"ncnn": to_ncnn, "MNN": to_mnn}


# ---- Running: each gives a function that runs, and one that gives the last run's outputs in the model's order.

def open_ours(job, feeds):
    sys.path.insert(0, str(ROOT / "calib_data"))
    from engine import Engine
    engine = Engine(job["library"], job["engine"], job["threads"])
    run, outputs = engine.bind(feeds)
    return run, lambda: [outputs()[name] for name in job["outputs"]]


def open_ncnn(job, feeds):
    """In fp32, with the allocators of ncnn's own benchmark."""
    import ncnn
    folder, net = pathlib.Path(job["folder"]), ncnn.Net()
    net.opt.num_threads = job["threads"]
    for name in dir(net.opt):
        if name.startswith(("use_fp16", "use_bf16")):
            setattr(net.opt, name, False)
    allocators = ncnn.UnlockedPoolAllocator(), ncnn.PoolAllocator()
    net.opt.blob_allocator, net.opt.workspace_allocator = allocators
    if net.load_param(str(folder / "model.ncnn.param")) or net.load_model(str(folder / "model.ncnn.bin")):
        raise Failure("ncnn does not load what pnnx wrote")
    # The script that pnnx writes besides knows which axis of an array is the batch, which ncnn's have not.
    script = (folder / "model_ncnn.py").read_text()
    inputs = re.findall(r'ex\.input\("in(\d+)", .*batch_index=(\d+)\)', script)
    outputs = re.findall(r'ex\.extract\("(out\d+)"\)\s.*batch_index=(\d+)\)', script)
    arrays = [a.astype(np.int32) if a.dtype == np.int64 else a for a in feeds.values()]
    mats = [(f"in{i}", ncnn.Mat(arrays[int(i)], batch_index=int(axis)).clone()) for i, axis in inputs]
    got = {}

    def run():
        extractor = net.create_extractor()
        for name, mat in mats:
            extractor.input(name, mat)
        for name, axis in outputs:
            code, mat = extractor.extract(name)
            if code:
                raise Failure(f"ncnn's extract returns {code}")
            got[name] = mat.numpy(batch_index=int(axis))

    run.kept = allocators  # the net has but pointers to them
    return run, lambda: [got[name] for name, _ in outputs]


def open_mnn(job, feeds):
    import MNN.expr as expr
    import MNN.nn as nn
    config = {"backend": "CPU", "precision": "high", "numThread": job["threads"]}
    module = nn.load_module_from_file(f"{job['folder']}/model.mnn", list(feeds), job["outputs"],
                                      runtime_manager=nn.create_runtime_manager((config,)),
                                      shape_mutable=job["shape_mutable"])
    kinds = {"float32": (expr.float, np.float32), "int64": (expr.int, np.int32), "int32": (expr.int, np.int32)}
    variables = []
    for array in feeds.values():
        kind, dtype = kinds[array.dtype.name]
        variables.append(expr.placeholder(list(array.shape), expr.NCHW, kind))
        variables[-1].write(array.astype(dtype))
    got = []

    def run():
        got[:] = [variable.read() for variable in module.forward(variables)]

    return run, lambda: list(got)


OPENERS = {"ours": open_ours, "ncnn": open_ncnn, "MNN": open_mnn}


# ---- A process with one model in one runtime

def milliseconds(run, seconds, at_least):
    times, end = [], time.perf_counter() + seconds
    while len(times) < at_least or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def serve(job):
    """Writes what the model puts out, and answers a line for a line: first the best time of warming up, then for a number
    of seconds the median time over as many."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries may print
    try:
        with np.load(job["feeds"]) as file:
            feeds = {name: file[name] for name in file.files}
        run, outputs = OPENERS[job["runtime"]](job, feeds)
        run()
        np.savez(job["results"], *map(np.array, outputs()))
        print(json.dumps({"best": min(milliseconds(run, WARM_UP_SECONDS, 2))}), file=answers, flush=True)
        for line in sys.stdin:
            run()
            print(json.dumps({"median": statistics.median(milliseconds(run, float(line), 5))}), file=answers, flush=True)
    except Exception as error:
        print(json.dumps({"error": str(error)}), file=answers, flush=True)
    os._exit(0)  # without the libraries' own clearing up, which may crash


class Process:
    """A runtime's process; every way in which it may fail is a Failure."""

    def __init__(self, job, folder):
        self._log = open(folder / f"{job['runtime']}.log", "w+", errors="replace")
        self.results = job["results"] = str(folder / f"{job['runtime']}.npz")
        self._process = subprocess.Popen([*PROGRAM, "run", json.dumps(job)], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, stderr=self._log, text=True)
        try:
            self.best = self._answer()["best"]
        except Failure:
            self.close()
            raise
        with np.load(self.results) as file:
            self.outputs = [file[name] for name in file.files]

    def median(self, seconds):
        try:
            self._process.stdin.write(f"{seconds}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the answer says why
        return self._answer()["median"]

    def _answer(self):
        if not select.select([self._process.stdout], [], [], ANSWER_SECONDS)[0]:
            raise Failure(f"no answer in {ANSWER_SECONDS} s")
        line = self._process.stdout.readline()
        self._log.seek(0)
        if not line:
            raise Failure(cause(self._process.wait(), self._log.read()))
        answer = json.loads(line)
        if "error" in answer:
            raise Failure(complaint(self._log.read()) or answer["error"][:120])
        return answer

    def close(self):
        self._process.kill()
        self._process.communicate()
        self._log.close()


if __name__ == "__main__":
    if sys.argv[1] == "fold":
        fold(sys.argv[2], sys.argv[3], json.loads(sys.argv[4]))
    elif sys.argv[1] == "mnn":
        mnn_convert(sys.argv[2], sys.argv[3])
    else:
        serve(json.loads(sys.argv[2]))
