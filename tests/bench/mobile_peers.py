#!/usr/bin/env python3
"""Times the benchmark models against ncnn and MNN, in turns: fp32, batch 1, median milliseconds a run, as a Markdown table.

    mobile_peers.py BUILD MODELS [--names a,b] [--threads 1,2] [--rounds 5] [--seconds 0.6] [--level 3]
                    [--keep DIR] [--json FILE]

BUILD      a build folder: bin/buildengine and lib/libplanwright.so in it are what is measured
MODELS     build/models, as calib_data/fetch_models.py fills it
--rounds   0 only converts, builds and checks
--keep     where converted models and the timing cache stay for the next call; else both are made anew
--json     what was measured; what is in the file already of other models and thread counts stays there and is part of the
           table, so that models can be measured one at a time

Run it in a Python environment of its own:
    pip install numpy onnx onnxruntime ncnn MNN && pip install --no-deps pnnx

Each runtime is in a process of its own. They are timed one after the other, round by round in rotating order, so that a
machine whose speed drifts favours none: a figure is the median of the rounds' medians, a ratio the median of the rounds'
ratios; above 1 Planwright is faster. A peer gets the model as it is and with shapes fixed and constants folded, MNN with and
without shapes that may change, and the quickest that is right counts: within 2e-3 of ONNX Runtime's largest output. Exit
status 1 if Planwright failed anywhere or is wrong.
"""
import argparse
import importlib.metadata
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import types

import numpy as np
import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "accuracy"))
from mobile_runtimes import CONVERTERS, PROGRAM, Failure, Process, converted  # noqa: E402  (the path is set above)
from models import SHAPES, VALUES, Bench, difference, flag, random_feeds, runtime  # noqa: E402

TOLERANCE = 2e-3
PEERS = tuple(CONVERTERS)
PACKAGES = "ncnn", "pnnx", "MNN"
# name -> ways to run it -> what a job says besides
WAYS = {"ncnn": {"": {}}, "MNN": {"": {"shape_mutable": False}, ", shapes may change": {"shape_mutable": True}}}


def versions():
    return {package: importlib.metadata.version(package) for package in PACKAGES}


def emptied(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    return folder


class Model:
    """A benchmark model with its inputs, ONNX Runtime's outputs, and what the converters made of it."""

    def __init__(self, file, name, kept, folder):
        self.name, self.file = name, file
        graph = onnx.load(file).graph
        dtypes = {value.name: onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
                  for value in graph.input if value.name in SHAPES[name]}
        shapes = {input_name: SHAPES[name][input_name] for input_name in dtypes}  # in the model's order
        self.feeds = random_feeds(types.SimpleNamespace(inputs=dtypes), shapes, np.random.default_rng(0), VALUES.get(name))
        self.want = runtime(file)(self.feeds)
        self.feeds_file = str(folder / "feeds.npz")
        np.savez(self.feeds_file, **self.feeds)
        self.conversions = self._converted(kept)

    def _converted(self, kept):
        """What came of each conversion: a list of (peer, variant, folder, error or None), made once for kept folders."""
        record = kept / "conversions.json"
        if record.exists() and json.loads(record.read_text())["versions"] == versions():
            return json.loads(record.read_text())["results"]
        results = []
        for variant in "as it is", "folded":
            source, error = self.file, None
            if variant == "folded":
                source = emptied(kept / variant) / "model.onnx"
                shapes = {name: array.shape for name, array in self.feeds.items()}
                try:
                    converted([*PROGRAM, "fold", str(self.file), str(source), json.dumps(shapes)], source.parent,
                              source.name)
                except Failure as failure:
                    error = f"folding: {failure}"
            for peer in PEERS:
                folder, reason = emptied(kept / f"{peer} {variant}"), error
                try:
                    if not error:
                        CONVERTERS[peer](source, folder, self.feeds)
                except Failure as failure:
                    reason = str(failure)
                results.append((peer, variant, str(folder), reason))
        record.write_text(json.dumps({"versions": versions(), "results": results}))
        return results

    def error(self, outputs):
        """Their difference to ONNX Runtime's, whatever axes of 1 and widths of integers a runtime has dropped."""
        got = {}
        for (name, want), array in zip(self.want.items(), outputs):
            same = array.size == want.size and array.dtype.kind == want.dtype.kind
            got[name] = array.reshape(want.shape).astype(want.dtype) if same else array
        return difference(got, self.want) if len(outputs) == len(self.want) else float("inf")


def quickest(jobs, model, folder):
    """The process of the quickest job whose outputs are right, and its row; or None, and a row that says why not."""
    best, row, errors = None, {}, []
    for how, job in jobs:
        try:
            process = Process(job, folder)
        except Failure as failure:
            errors.append(f"does not run: {failure}")
            continue
        error = model.error(process.outputs)
        if error <= TOLERANCE and (best is None or process.best < best.best):
            best, process = process, best
            row = {"difference": error, "how": how}
        elif not error <= TOLERANCE:
            errors.insert(0, f"wrong (by {error:.1g})")
        if process:
            process.close()
    return best, row if best else {"error": errors[0]}


def contestants(bench, model, threads, given, cache, folder):
    """name -> its process, and name -> its row, for ours and the peers."""
    common = {"threads": threads, "feeds": model.feeds_file, "outputs": list(model.want)}
    processes, rows = {}, {}
    try:
        engine = bench.build_engine(model.name, f"--threads={threads}", f"--builderOptimizationLevel={given.level}",
                                    f"--timingCacheFile={cache}",
                                    f"--shapes={flag(SHAPES[model.name], VALUES.get(model.name))}")
        job = {**common, "runtime": "ours", "engine": str(engine), "library": str(bench.build / "lib/libplanwright.so")}
        processes["ours"], rows["ours"] = quickest([("built", job)], model, folder)
    except RuntimeError as error:
        rows["ours"] = {"error": str(error)[:160]}
    for peer in PEERS:
        made = [(variant, where, error) for name, variant, where, error in model.conversions if name == peer]
        jobs = [(variant + way, {**common, **options, "runtime": peer, "folder": where})
                for variant, where, error in made if not error for way, options in WAYS[peer].items()]
        if jobs:
            processes[peer], rows[peer] = quickest(jobs, model, folder)
        else:
            rows[peer] = {"error": f"does not convert: {made[0][2]}"}
    return {name: process for name, process in processes.items() if process}, rows


def measure(bench, model, threads, given, cache, folder):
    processes, rows = contestants(bench, model, threads, given, cache, folder)
    order = list(processes)
    for name in order:
        rows[name]["rounds"] = []
    for number in range(given.rounds):
        start = number % max(len(order), 1)
        for name in order[start:] + order[:start]:
            if "error" not in rows[name]:
                try:
                    rows[name]["rounds"].append(processes[name].median(given.seconds))
                except Failure as failure:
                    rows[name]["error"] = f"stopped: {failure}"
    for process in processes.values():
        process.close()
    for row in rows.values():
        if "error" not in row and row["rounds"]:
            row["ms"] = statistics.median(row["rounds"])
    for peer in PEERS:
        if "ms" in rows[peer] and "ms" in rows["ours"]:
            rows[peer]["ratio"] = statistics.median(
                theirs / ours for theirs, ours in zip(rows[peer]["rounds"], rows["ours"]["rounds"]))
    return {"model": model.name, "threads": threads, "versions": versions(), "rows": rows}


def faster(rows):
    """The ratio to the faster peer, if one is right."""
    timed = [rows[peer] for peer in PEERS if "ratio" in rows[peer]]
    return min(timed, key=lambda row: row["ms"])["ratio"] if timed else None


def cell(row):
    return f"{row['ms']:.3g}" if "ms" in row else row.get("error", "not timed").replace("|", "/")


def table(results):
    threads = sorted({result["threads"] for result in results})
    heads = [f"{column}, {count} thread{'s' * (count > 1)}" for count in threads for column in
             ("Planwright, ms", *(f"{peer}, ms" for peer in PEERS), "ratio to the faster")]
    yield f"| model | {' | '.join(heads)} |"
    yield "|---" * (len(heads) + 1) + "|"
    for name in SHAPES:
        of_model = {result["threads"]: result["rows"] for result in results if result["model"] == name}
        cells = []
        for count in threads:
            rows = of_model.get(count)
            ratio = faster(rows) if rows else None
            cells += [cell(rows[who]) for who in ("ours", *PEERS)] if rows else ["", "", ""]
            cells.append(f"{ratio:.2f}" if ratio else "")
        if of_model:
            yield f"| {name} | {' | '.join(cells)} |"
    yield ""
    for count in threads:
        rows = [result["rows"] for result in results if result["threads"] == count]
        means = [("the faster right peer", [ratio for ratio in map(faster, rows) if ratio])]
        means += [(peer, [row[peer]["ratio"] for row in rows if "ratio" in row[peer]]) for peer in PEERS]
        said = [f"{statistics.geometric_mean(ratios):.2f} to {whom} ({len(ratios)} models, {min(ratios):.2f} to "
                f"{max(ratios):.2f})" for whom, ratios in means if ratios]
        yield f"Geometric means, {count} thread{'s' * (count > 1)}: {', '.join(said) or 'nothing timed'}."


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("models", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--names", type=lambda text: text.split(","), default=list(SHAPES))
    parser.add_argument("--threads", type=lambda text: [int(count) for count in text.split(",")], default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.6)
    parser.add_argument("--level", type=int, default=3)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    given = parser.parse_args()
    if unknown := set(given.names) - set(SHAPES):
        parser.error(f"no such models: {', '.join(sorted(unknown))}; there are {', '.join(SHAPES)}")
    bench = Bench(given.build, given.models)
    keep = (given.keep or bench.scratch).resolve()
    keep.mkdir(parents=True, exist_ok=True)
    results = json.loads(given.json.read_text()) if given.json and given.json.exists() else []
    for name in given.names:
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            model = Model(given.models / f"{name}.onnx", name, keep / name, folder)
            for threads in given.threads:
                result = measure(bench, model, threads, given, keep / "timing.cache", folder)
                print(f"{name}, --threads={threads}: " + "; ".join(
                    f"{who} {cell(row)}" + (f" ({row['how']}, off by {row['difference']:.0e})" if "how" in row else "")
                    for who, row in result["rows"].items()), file=sys.stderr, flush=True)
                results = [r for r in results if (r["model"], r["threads"]) != (name, threads)] + [result]
                if given.json:
                    given.json.write_text(json.dumps(results, indent=1))
    print(", ".join(map(" ".join, versions().items())) + "\n")
    print("\n".join(table(results)))
    return any("error" in result["rows"]["ours"] for result in results)


if __name__ == "__main__":
    sys.exit(main())
