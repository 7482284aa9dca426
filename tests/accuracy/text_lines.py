#!/usr/bin/env python3
"""Rendered lines of text (calib_data/render_lines.py): text_lines.py BUILD MODELS ppocrv4_rec.

The two sets share no text and come out the same again, and ONNX Runtime reads most of each kind of line right: a set that
cannot be read would say nothing of what a quantised model loses.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "calib_data" / "render_lines.py"
LINES, LEAST_READ = 60, 0.8


def render(folder):
    subprocess.run([sys.executable, SCRIPT, f"--lines={LINES}", folder], check=True)
    sets = {}
    for name in ("calibration", "evaluation"):
        files = sorted((pathlib.Path(folder) / name).glob("*.npz"))
        sets[name] = [(str(archive["truth"]), archive["x"]) for archive in map(np.load, files)]
    return sets


def kind_of(text):
    return "digits" if not any(c.isalpha() for c in text) else "Latin" if text.isascii() else "Chinese"


def main():
    path = pathlib.Path(sys.argv[2]) / f"{sys.argv[3]}.onnx"
    with tempfile.TemporaryDirectory() as folder:
        sets = render(folder + "/a")
        again = render(folder + "/b")
    failures = []
    if {text for text, _ in sets["calibration"]} & {text for text, _ in sets["evaluation"]}:
        failures.append("a text is in both sets")
    for name, lines in sets.items():
        if len(lines) != LINES or any(x.dtype != np.float32 or x.shape[:3] != (1, 3, 48) for _, x in lines):
            failures.append(f"{name} holds something else than {LINES} inputs")
        if not all(a[0] == b[0] and (a[1] == b[1]).all() for a, b in zip(lines, again[name])):
            failures.append(f"{name} comes out differently")
    if len({x.shape[3] for _, x in sets["calibration"]}) < LINES / 4:
        failures.append("most lines have one width")

    characters = {p.key: p.value for p in onnx.load(path).metadata_props}["character"].splitlines() + [" "]
    session = onnxruntime.InferenceSession(path)
    right, total = {}, {}
    for text, x in sets["calibration"] + sets["evaluation"]:
        best = session.run(None, {"x": x})[0][0].argmax(axis=1)
        kept = best[(best != 0) & (best != np.concatenate([[-1], best[:-1]]))]
        read = "".join(characters[index - 1] for index in kept)
        kind = kind_of(text)
        total[kind] = total.get(kind, 0) + 1
        right[kind] = right.get(kind, 0) + (read.replace(" ", "") == text.replace(" ", ""))
    for kind, count in total.items():
        print(f"{kind}: {right[kind]} of {count} lines read right")
        if right[kind] < LEAST_READ * count:
            failures.append(f"too few lines of {kind} are read right")
    print("\n".join(failures) or "passed")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
