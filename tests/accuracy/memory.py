#!/usr/bin/env python3
"""The arena is within 10 % of what must be alive at once, recomputed here from exported sizes and lifetimes, and running
takes no more than weights, arena, inputs, outputs and 16 MiB.

    memory.py BUILD MODELS NAME
"""
import json
import re
import subprocess
import sys

from models import SHAPES, VALUES, Bench, flag

MIB = 1 << 20


def lower_bound(buffers):
    """The largest sum of (rounded) sizes alive at one step."""
    steps = range(max((buffer["Last"] for buffer in buffers), default=0) + 1)
    return max((sum(b["Size"] for b in buffers if b["First"] <= step <= b["Last"]) for step in steps), default=0)


def overlaps(a, b):
    return (a["First"] <= b["Last"] and b["First"] <= a["Last"] and
            a["Offset"] < b["Offset"] + b["Size"] and b["Offset"] < a["Offset"] + a["Size"])


def main(build, models, name):
    bench = Bench(build, models)
    info = bench.scratch / "layers.json"
    file = bench.build_engine(name, f"--shapes={flag(SHAPES[name], VALUES.get(name))}", f"--exportLayerInfo={info}")
    arena = json.loads(info.read_text())["Arena"][0]
    buffers, bound = arena["Buffers"], lower_bound(arena["Buffers"])
    assert not any(overlaps(a, b) for i, a in enumerate(buffers) for b in buffers[:i]), "live buffers overlap"
    assert all(b["Offset"] + b["Size"] <= arena["Size"] for b in buffers), "a buffer lies past the arena's end"

    command = [bench.build / "bin/runengine", f"--loadEngine={file}", "--warmUp=0", "--duration=0", "--iterations=3"]
    report = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True).stdout
    found = re.search(r"Weights: ([\d.]+) MiB.*Arena: ([\d.]+) MiB.*Bindings: ([\d.]+) MiB.*Peak resident: ([\d.]+) MiB",
                      report)
    weights, total_arena, bindings, peak = map(float, found.groups())
    allowed = weights + total_arena + bindings + 16
    print(f"{name}: arena {arena['Size'] / MIB:.2f} MiB, bound {bound / MIB:.2f}; peak {peak:.1f} MiB of {allowed:.1f} allowed")
    return not (arena["Size"] <= 1.10 * bound and peak <= allowed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
