#!/usr/bin/env python3
"""What models lose in int8, calibrated on one set of samples and scored on another that shares none with it.

    int8_scores.py [--full] [--samples=FOLDER] [--peers] [--time] BUILD MODELS [NAME ...]

Without --full: few samples, and nothing is timed, so that all layers are int8 that may be: a test. With it: 500 lines and 40
pages in each set, and engines as they are built when nothing is said. "int8 everywhere" is what --maxDrop=100% gives, which
takes no layer back into floats for the outputs' sake: shown, and held to nothing. --peers: the same of ONNX Runtime and
OpenVINO. --time: how long calibration takes, and how much memory. Exit status 1 where a score is less than it must be, or no
layer is int8.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

from int8_peers import PEERS
from int8_tasks import TASKS
from models import ROOT, Bench, flag

UNTIMED, TIMED = "--builderOptimizationLevel=0", "--builderOptimizationLevel=3"
EVERYWHERE = "int8 everywhere"
# Samples in a set of the short form: lines to calibrate with, lines to score, pages.
SHORT_LINES, SHORT_SCORED, SHORT_PAGES = 32, 200, 2


def render(folder, is_full):
    lines, pages = (500, 40) if is_full else (SHORT_SCORED, SHORT_PAGES)
    subprocess.run([sys.executable, ROOT / "calib_data/render_samples.py", f"--lines={lines}", f"--pages={pages}", folder],
                   check=True)


def save_samples(folder, samples):
    folder.mkdir()
    for index, (feeds, _) in enumerate(samples):
        np.savez(folder / f"{index:04}.npz", **feeds)
    return folder


def count_layers(info):
    """Of an engine's contractions, those that multiply bytes, and all."""
    layers = [layer for layer in json.loads(info.read_text())["Layers"] if "Conv" in layer["LayerType"] or
              "MatMul" in layer["LayerType"]]
    return sum(layer["Inputs"][0]["Type"] in ("uint8", "int8") for layer in layers), len(layers)


def variants(task, is_full, samples, cache):
    int8 = ["--int8", f"--calibData={samples}", "--calibrator=auto", f"--calib={cache}"]
    level = TIMED if is_full else UNTIMED
    yield "fp32", [level]
    yield "int8", [level, *int8]
    for variant in task.margins.keys() - {"int8"}:
        yield variant, [level, *int8, variant.split()[1]]
    if is_full:
        yield "int8, nothing timed", [UNTIMED, *int8]
        yield EVERYWHERE, [UNTIMED, *int8, "--maxDrop=100%"]


def score_model(bench, task, rendered, arguments):
    """Prints the model's rows; whether each is as good as it must be."""
    calibration, evaluation = (list(task.samples(rendered, part)) for part in ("calibration", "evaluation"))
    if not arguments.full:
        calibration = calibration[:SHORT_LINES]
    truths = [truth for _, truth in evaluation]
    print(f"{task.model}: {task.measure}, {len(calibration)} samples to calibrate with, {len(evaluation)} others scored")
    profile = [f"--{which}Shapes={flag(shapes)}"
               for which, shapes in (("min", task.low), ("opt", task.best), ("max", task.high))]
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        samples, cache = save_samples(scratch / "samples", calibration), scratch / "calibration.cache"
        exact = exact_score = None
        passed = True
        for variant, flags in variants(task, arguments.full, samples, cache):
            info = scratch / "layers.json"
            file = bench.build_engine(task.model, *profile, *flags, f"--exportLayerInfo={info}")
            with bench.open(file) as engine:
                answers = [task.answer(engine(feeds)) for feeds, _ in evaluation]
            exact = exact or answers
            score, remark = task.score(answers, exact, truths)
            exact_score = score if exact_score is None else exact_score
            int8_layers, layers = count_layers(info)
            least = -np.inf if variant in ("fp32", EVERYWHERE) else task.least(variant, exact_score)
            # In fp32 the model must be good for something, or the rest says nothing.
            good = score >= least - 1e-9 and exact_score > 0.8 and (arguments.full or variant == "fp32" or int8_layers > 0)
            passed = passed and good
            print(f"  {variant:20}  {score:.4f}  {remark}; {int8_layers} of {layers} layers in int8, "
                  f"{file.stat().st_size / 2**20:.2f} MiB{'' if good else f'  FAILED: less than {least:.4f}, or no int8'}",
                  flush=True)
        for peer, quantise in PEERS.items() if arguments.peers else ():
            try:
                run = quantise(bench.models / f"{task.model}.onnx", [feeds for feeds, _ in calibration], scratch)
            except ImportError as error:
                print(f"  {peer:20}  skipped: {error}")
                continue
            answers = [task.answer(run(feeds)) for feeds, _ in evaluation]
            score, remark = task.score(answers, exact, truths)
            print(f"  {peer:20}  {score:.4f}  {remark}", flush=True)
    return passed


def measure_time(bench, task, rendered):
    """How long and in how much memory ppocrv4_rec is calibrated on many and on few of its lines."""
    samples = list(task.samples(rendered, "calibration"))
    for count in (len(samples) // 10, len(samples)):
        with tempfile.TemporaryDirectory() as folder:
            path = save_samples(pathlib.Path(folder) / "samples", samples[:count])
            command = [bench.build / "bin/buildengine", f"--onnx={bench.models / task.model}.onnx",
                       f"--saveEngine={folder}/engine", f"--minShapes={flag(task.low)}", f"--maxShapes={flag(task.high)}",
                       UNTIMED, "--skipInference", "--int8", f"--calibData={path}", "--calibrator=minmax", "--maxDrop=100%"]
            with tempfile.TemporaryFile() as log:
                process = subprocess.Popen([str(part) for part in command], stdout=log, stderr=log)
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                log.seek(0)
                text = log.read().decode()
        found = re.search(r"calibrated.*", text)
        print(f"{task.model}: {found.group() if found else text}; peak memory {usage.ru_maxrss / 1024:.0f} MiB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("full", "peers", "time"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--samples", type=pathlib.Path, help="where rendered samples are, or go")
    parser.add_argument("build")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TASKS))
    arguments = parser.parse_args()
    bench, passed = Bench(arguments.build, arguments.models), True
    with tempfile.TemporaryDirectory() as folder:
        rendered = arguments.samples or pathlib.Path(folder)
        names = arguments.names or list(TASKS)
        if set(names) != {"minilm_l3"}:
            render(rendered, arguments.full)
        for name in names:
            task = TASKS[name](arguments.models)
            passed = score_model(bench, task, rendered, arguments) and passed
            if arguments.time and name == "ppocrv4_rec":
                measure_time(bench, task, rendered)
    print("passed" if passed else "FAILED")
    return not passed


if __name__ == "__main__":
    sys.exit(main())
