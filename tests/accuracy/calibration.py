#!/usr/bin/env python3
"""Calibration of a real model, through the programs: calibration.py BUILD MODELS NAME.

The thresholds of its activations are those of the definitions, written down once more in NumPy (thresholds.py). ONNX Runtime
finds the same extremes, of each channel too, to a bin. Neither the order of samples nor how they are put into files changes a byte of the cache.
Caches made with other instruction sets differ in thresholds by a bin at most, but for cuts that lose the same, and one cache
gives the same levels with all of them. For ppocrv4_rec, ppocr_cls and minilm_l3.
"""
import copy
import functools
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

from int8_tasks import TASKS
from models import ROOT, Bench, flag
from thresholds import BINS, CALIBRATORS, LEVELS, divergence, squared_error

SAMPLES = 6
# Of a divergence in float64: cuts that lose the same but for this may trade places.
ROUNDING = 1e-12
# Losses of two cuts that differ by less, of themselves, are a matter of a few values that lie in the next bin.
FLAT = 1e-3


class Tensor:
    """A line of calibration_dump."""

    def __init__(self, line):
        self.key, self.name, low, high, self.count, _, *fields, counts, factors = line.split("\t")
        self.low, self.high = float.fromhex(low), float.fromhex(high)
        self.limit = max(-self.low, self.high)
        self.thresholds = {name: float.fromhex(text) for name, text in zip(CALIBRATORS, fields[::3])}
        self.counts = np.array(counts.split(), np.int64)
        self.factors = np.array([float.fromhex(text) for text in factors.split()])

    @property
    def bin(self):
        return self.limit / BINS


class Calibration:
    """Runs buildengine, which calibrates, and reads what came of it."""

    def __init__(self, bench, task):
        self._bench, self._task, self.scratch = bench, task, bench.scratch
        self._profile = [f"--{which}Shapes={flag(shapes)}"
                         for which, shapes in (("min", task.low), ("opt", task.best), ("max", task.high))]

    def build(self, cache, samples, *flags, calibrator="entropy"):
        """With every layer in int8, and measured on other samples: none of these is held out. Without samples, of the cache
        alone."""
        data = [f"--calibData={samples}", f"--evalData={self.scratch / 'held.npz'}"] if samples else []
        return self._bench.build_engine(self._task.model, *self._profile, "--int8", f"--calib={cache}", "--maxDrop=100%",
                                        f"--calibrator={calibrator}", *data, *flags)

    def tensors(self, cache):
        lines = self._run("calibration_dump", cache).splitlines()
        return {tensor.key: tensor for tensor in map(Tensor, lines)}

    def levels(self, engine):
        """The constants that say with which levels an engine's layers multiply: scales of tensors times those of weights,
        and zero points."""
        return self._run("engine_constants", engine, "/scales", "/zero")

    def _run(self, tool, *arguments):
        command = [self._bench.build / "bin" / tool, *arguments]
        return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


# ---- Checks, each of which gives faults

def find_wrong_thresholds(tensors):
    for tensor in tensors.values():
        counts, limit = tensor.counts.astype(np.float64), tensor.limit
        divergences = np.array([divergence(counts, cut) for cut in range(LEVELS, BINS)])
        # The first cut of the least loss.
        least = divergences.min()
        cuts = LEVELS + np.flatnonzero(divergences <= least + ROUNDING * max(1, abs(least)))
        wanted = [limit] if np.isinf(least) else [float(np.float32((cut + 0.5) * limit / BINS)) for cut in cuts]
        if tensor.thresholds["entropy"] not in wanted:
            yield f"{tensor.name}: entropy's threshold is {tensor.thresholds['entropy']}, not {wanted[0]}"
        within = np.cumsum(counts)
        wanted = np.float32((np.argmax(within >= 0.9999 * within[-1]) + 1) * limit / BINS)
        if tensor.thresholds["percentile"] != wanted or tensor.thresholds["minmax"] != limit:
            yield f"{tensor.name}: percentile's threshold is {tensor.thresholds['percentile']}, not {wanted}"


def extremes(model, names, samples):
    """Of tensors of the model, in ONNX Runtime: name -> Ends."""
    exposed = onnx.ModelProto()
    exposed.CopyFrom(model)
    known = {value.name for value in model.graph.output}
    exposed.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names if name not in known)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session, ends = onnxruntime.InferenceSession(exposed.SerializeToString(), options), {}
    for feeds, _ in samples:
        for name, values in zip(names, session.run(names, feeds)):
            of_sample = Ends(values)
            ends[name] = ends[name].joined(of_sample) if name in ends else of_sample
    return ends


class Ends:
    """Between what numbers a tensor's values lie, and those of each channel, of a convolution's or of a product's input."""

    def __init__(self, values):
        self.whole = float(values.min()), float(values.max())
        self.channels = []
        for axis in {1, values.ndim - 1} if values.ndim > 1 else ():
            others = tuple(i for i in range(values.ndim) if i != axis)
            self.channels.append((values.min(others), values.max(others)))

    def joined(self, other):
        made = copy.copy(self)
        made.whole = min(self.whole[0], other.whole[0]), max(self.whole[1], other.whole[1])
        made.channels = [(np.minimum(a[0], b[0]), np.maximum(a[1], b[1])) if len(a[0]) == len(b[0]) else (a[0][:0], a[1][:0])
                         for a, b in zip(self.channels, other.channels)]
        return made

    def divided(self, factors):
        """All that they may be once channels are divided by as many factors."""
        if not len(factors):
            return [self.whole]
        return [(min(0.0, (low / factors).min()), max(0.0, (high / factors).max()))
                for low, high in self.channels if len(low) == len(factors)]


def names_behind(model):
    """What a tensor may be of those behind it, as a function: a contraction into which factors and summands of its channels
    went, of a BatchNormalization or as Mul and Add, keeps its first tensor's name."""
    readers = {}
    for node in model.graph.node:
        for operand in node.input:
            readers.setdefault(operand, []).append(node)

    def follow(name):
        names = [name]
        while len(readers.get(names[-1], [])) == 1:
            (reader,) = readers[names[-1]]
            if reader.op_type not in ("BatchNormalization", "Mul", "Add", "Sub", "Div"):
                break
            names.append(reader.output[0])
        return names

    return follow


def find_other_ranges(tensors, path, samples):
    model = onnx.load(path)
    made = {output for node in model.graph.node for output in node.output} | {value.name for value in model.graph.input}
    follow = names_behind(model)
    candidates = {tensor.key: follow(tensor.name) for tensor in tensors.values() if tensor.name in made}
    ends = extremes(model, sorted({name for names in candidates.values() for name in names} -
                                  {value.name for value in model.graph.input}), samples)
    for value in model.graph.input:
        of_input = [Ends(feeds[value.name]) for feeds, _ in samples]
        ends[value.name] = functools.reduce(Ends.joined, of_input)
    if len(candidates) < 0.8 * len(tensors):
        yield "too few activations can be compared with ONNX Runtime's"
    later = 0
    for key, names in candidates.items():
        tensor = tensors[key]
        agree = [any(max(abs(tensor.low - low), abs(tensor.high - high)) <= tensor.bin
                     for low, high in ends[name].divided(tensor.factors)) for name in names]
        later += any(agree) and not agree[0]
        if not any(agree):
            yield (f"{names[0]} lies from {tensor.low} to {tensor.high}, in ONNX Runtime from "
                   f"{ends[names[0]].divided(tensor.factors)}")
    print(f"  {len(candidates)} of {len(tensors)} activations have a name that ONNX Runtime knows, {later} of them one of what "
          "is before their channels' factors")


def save_forms(folder, samples):
    """The same samples in several forms: a file each; shuffled; those of one shape in one array; and, where the model has
    one input, .npy files."""
    feeds, rng = [feeds for feeds, _ in samples], np.random.default_rng(0)
    forms = {name: folder / name for name in ("one_each", "shuffled", "batches")}
    for path in forms.values():
        path.mkdir()
    for index, sample in enumerate(feeds):
        np.savez(forms["one_each"] / f"{index}.npz", **sample)
    for place, index in enumerate(rng.permutation(len(feeds))):
        np.savez_compressed(forms["shuffled"] / f"{place}.npz", **feeds[index])
    groups = {}
    for sample in feeds:
        groups.setdefault(tuple(array.shape for array in sample.values()), []).append(sample)
    for index, group in enumerate(groups.values()):
        np.savez(forms["batches"] / f"{index}.npz", **{name: np.concatenate([sample[name] for sample in group])
                                                       for name in group[0]})
    if len(feeds[0]) == 1:
        forms["npy"] = folder / "npy"
        forms["npy"].mkdir()
        for index, sample in enumerate(feeds):
            np.save(forms["npy"] / f"{len(feeds) - index}.npy", next(iter(sample.values())))
    return forms


def find_changes_of_form(calibration, forms, wanted):
    for form, path in forms.items():
        cache = calibration.scratch / f"{form}.cache"
        calibration.build(cache, path)
        if cache.read_bytes() != wanted:
            yield f"{form}: the cache comes out differently"


def lose_the_same(calibrator, tensor, other):
    """Whether two thresholds of one tensor, some bins apart, lose as much as each other in its histogram: a loss that hardly
    changes from cut to cut has no sharp least."""
    cuts = [int(one.thresholds[calibrator] / tensor.bin + 0.25) for one in (tensor, other)]
    loss = {"entropy": divergence, "mse": squared_error}.get(calibrator)
    if loss is None:
        return False
    losses = [loss(tensor.counts.astype(np.float64), cut) for cut in cuts]
    return abs(losses[0] - losses[1]) <= FLAT * losses[0]


def find_changes_of_isa(calibration, samples, cache, tensors):
    levels = calibration.levels(calibration.build(cache, None))
    print(f"  {len(levels.splitlines())} constants say which levels an engine has")
    other_levels = calibration.levels(calibration.build(cache, None, calibrator="minmax"))
    if len(levels.splitlines()) < len(tensors) or levels == other_levels:
        yield "what is compared does not depend on calibration"
    for isa in ("baseline", "avx2"):
        own = calibration.scratch / f"{isa}.cache"
        calibration.build(own, samples, f"--isa={isa}")
        others, most = calibration.tensors(own), 0
        if others.keys() != tensors.keys():
            yield f"{isa}: other tensors are calibrated"
            continue
        for key, tensor in tensors.items():
            apart = {name: abs(tensor.thresholds[name] - others[key].thresholds[name]) / tensor.bin for name in CALIBRATORS}
            most = max(most, *apart.values())
            for name, bins in apart.items():
                if bins > 1.001 and not lose_the_same(name, tensor, others[key]):
                    yield f"{isa}: {name}'s threshold of {tensor.name} is {bins:.2f} bins off"
        print(f"  {isa}: thresholds at most {most:.2g} bins off")
        if calibration.levels(calibration.build(cache, None, f"--isa={isa}")) != levels:
            yield f"{isa}: an engine of the same cache has other levels"


def main(build, models, name):
    bench = Bench(build, models)
    task = TASKS[name](bench.models)
    with tempfile.TemporaryDirectory() as folder:
        if name != "minilm_l3":
            render = ROOT / "calib_data/render_samples.py"
            subprocess.run([sys.executable, render, f"--lines={SAMPLES}", "--pages=1", folder], check=True)
        samples = list(task.samples(pathlib.Path(folder), "calibration"))[:SAMPLES]
        held = next(iter(task.samples(pathlib.Path(folder), "evaluation")))[0]
    samples.append((samples[0][0], None))  # twice, so that two have one shape
    calibration, forms = Calibration(bench, task), save_forms(bench.scratch, samples)
    np.savez(bench.scratch / "held.npz", **held)
    cache = bench.scratch / "first.cache"
    calibration.build(cache, forms["one_each"])
    tensors = calibration.tensors(cache)
    faults = [*find_wrong_thresholds(tensors), *find_other_ranges(tensors, bench.models / f"{name}.onnx", samples),
              *find_changes_of_form(calibration, forms, cache.read_bytes()),
              *find_changes_of_isa(calibration, forms["one_each"], cache, tensors)]
    print("\n".join(faults) or f"{name}: {len(tensors)} activations, passed")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
