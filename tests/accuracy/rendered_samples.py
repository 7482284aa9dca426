#!/usr/bin/env python3
"""Rendered samples (calib_data/render_samples.py): rendered_samples.py BUILD MODELS NAME.

The two sets share no text and come out the same again, and ONNX Runtime makes of most of them what is true: a set that
cannot be read would say nothing of what a quantised model loses. For ppocrv4_rec and ppocr_cls.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "calib_data" / "render_samples.py"
LINES, LEAST_READ = 60, 0.8


def render(folder, model):
    """Set -> file name -> array name -> array."""
    subprocess.run([sys.executable, SCRIPT, f"--lines={LINES}", "--pages=1", folder], check=True)
    folders = {part: pathlib.Path(folder) / model / part for part in ("calibration", "evaluation")}
    return {part: {file.name: dict(np.load(file)) for file in sorted(folders[part].glob("*.npz"))} for part in folders}


def kind_of(text):
    return "digits" if not any(c.isalpha() for c in text) else "Latin" if text.isascii() else "Chinese"


def read_lines(path, files):
    """(kind, whether it is right) for each line."""
    characters = {p.key: p.value for p in onnx.load(path).metadata_props}["character"].splitlines() + [" "]
    session = onnxruntime.InferenceSession(path)
    for arrays in files:
        text = str(arrays["truth"])
        best = session.run(None, {"x": arrays["x"]})[0][0].argmax(axis=1)
        kept = best[(best != 0) & (best != np.concatenate([[-1], best[:-1]]))]
        read = "".join(characters[index - 1] for index in kept)
        yield kind_of(text), read.replace(" ", "") == text.replace(" ", "")


def tell_directions(path, files):
    session = onnxruntime.InferenceSession(path)
    for arrays in files:
        for answer, label in zip(session.run(None, {"x": arrays["x"]})[0], arrays["label"]):
            yield ("turned" if label else "upright"), answer.argmax() == label


def find_faults(model, sets, again):
    for part, files in sets.items():
        same = all((array == again[part][file][name]).all() for file, arrays in files.items()
                   for name, array in arrays.items())
        if not same or files.keys() != again[part].keys():
            yield f"{part} comes out differently"
        if sum(len(arrays["x"]) for arrays in files.values()) != LINES:
            yield f"{part} holds something else than {LINES} lines"
        if any(arrays["x"].dtype != np.float32 or arrays["x"].shape[1:3] != (3, 48) for arrays in files.values()):
            yield f"{part} holds no inputs of the model"
    if model == "ppocrv4_rec":
        texts = [{str(arrays["truth"]) for arrays in files.values()} for files in sets.values()]
        if texts[0] & texts[1]:
            yield "a text is in both sets"
        if len({arrays["x"].shape[3] for arrays in sets["calibration"].values()}) < LINES / 4:
            yield "most lines have one width"


def main():
    model = sys.argv[3]
    path = pathlib.Path(sys.argv[2]) / f"{model}.onnx"
    with tempfile.TemporaryDirectory() as folder:
        sets, again = (render(f"{folder}/{name}", model) for name in "ab")
    faults = list(find_faults(model, sets, again))
    judge = {"ppocrv4_rec": read_lines, "ppocr_cls": tell_directions}[model]
    right, total = {}, {}
    for kind, good in judge(path, [arrays for files in sets.values() for arrays in files.values()]):
        total[kind] = total.get(kind, 0) + 1
        right[kind] = right.get(kind, 0) + bool(good)
    for kind, count in total.items():
        print(f"{kind}: {right[kind]} of {count} right")
        if right[kind] < LEAST_READ * count:
            faults.append(f"too few {kind} lines are right")
    print("\n".join(faults) or "passed")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
