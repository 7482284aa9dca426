#!/usr/bin/env python3
"""Reads the text of rendered pages with PP-OCR's three engines through the library, beside the truth.

    read_text.py --engines DIR --models DIR --library FILE PAGES

PAGES as render_text.py makes them. Detection finds lines, direction turns those that stand on their head, recognition
reads them. Spaces are not compared: these models leave out many. Exit status 1 when fewer than 80 % of the lines are right.
"""
import argparse
import json
import pathlib
import sys

import numpy as np
import onnx
from PIL import Image

from engine import Engine


class Network:
    """An engine with the input "x" and one output."""

    def __init__(self, library, path):
        self.engine = Engine(library, path)

    def __call__(self, x):
        return next(iter(self.engine({"x": x}).values()))


def normalise(pixels, mean, deviation):
    """Height x width x 3 bytes to 1 x 3 x height x width floats."""
    scaled = (pixels.astype(np.float32) / 255 - np.float32(mean)) / np.float32(deviation)
    return scaled.transpose(2, 0, 1)[None]


def resize(pixels, height, width):
    return np.asarray(Image.fromarray(pixels).resize((width, height), Image.BILINEAR))


def find_runs(flags):
    """[start, end) of every run of true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return list(zip(edges[::2], edges[1::2]))


def find_lines(detector, page):
    """Boxes (top, bottom, left, right), top to bottom. Lines of these pages lie level and do not overlap."""
    heat = detector(normalise(page, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))[0, 0] > 0.3
    boxes = []
    for top, bottom in find_runs(heat.any(axis=1)):
        if bottom - top < 6:
            continue
        columns = np.flatnonzero(heat[top:bottom].any(axis=0))
        grow = int(0.35 * (bottom - top)) + 3  # the detector marks shrunken lines
        boxes.append((max(top - grow, 0), min(bottom + grow, page.shape[0]),
                      max(columns[0] - grow, 0), min(columns[-1] + 1 + grow, page.shape[1])))
    return boxes


def is_upside_down(classifier, line):
    width = min(192, max(1, round(line.shape[1] * 48 / line.shape[0])))
    x = np.zeros((1, 3, 48, 192), np.float32)
    x[..., :width] = normalise(resize(line, 48, width), 0.5, 0.5)
    upright, turned = classifier(x)[0]
    return turned > upright and turned > 0.9


def read_line(recogniser, characters, line):
    """Greedy CTC: the best class of each column, repeats and blanks (class 0) dropped."""
    width = int(np.clip(round(line.shape[1] * 48 / line.shape[0]), 32, 960))
    best = recogniser(normalise(resize(line, 48, width), 0.5, 0.5))[0].argmax(axis=1)
    kept = best[(best != 0) & (best != np.concatenate([[-1], best[:-1]]))]
    return "".join(characters[index - 1] for index in kept)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--engines", "--models", "--library"):
        parser.add_argument(flag, type=pathlib.Path, required=True)
    parser.add_argument("pages", type=pathlib.Path)
    arguments = parser.parse_args()
    networks = [Network(arguments.library.resolve(), arguments.engines / f"{name}.engine")
                for name in ("ppocrv4_det", "ppocr_cls", "ppocrv4_rec")]
    detector, classifier, recogniser = networks
    metadata = {p.key: p.value for p in onnx.load(arguments.models / "ppocrv4_rec.onnx").metadata_props}
    characters = metadata["character"].splitlines() + [" "]

    right = total = 0
    for index, truth in enumerate(json.loads((arguments.pages / "truth.json").read_text())["pages"]):
        page = np.load(arguments.pages / f"page_{index}.npy")
        boxes = find_lines(detector, page)
        print(f"page {index}: {len(boxes)} lines found, {len(truth)} drawn")
        for position in range(max(len(boxes), len(truth))):
            read = turned = ""
            if position < len(boxes):
                top, bottom, left, end = boxes[position]
                line = page[top:bottom, left:end]
                if is_upside_down(classifier, line):
                    line, turned = line[::-1, ::-1], " (turned)"
                read = read_line(recogniser, characters, line)
            want = truth[position]["text"] if position < len(truth) else ""
            same = read.replace(" ", "") == want.replace(" ", "")
            right, total = right + same, total + 1
            print(f"  {'ok ' if same else 'BAD'} read '{read}'{turned}   truth '{want}'")
    for network in networks:
        network.engine.close()
    print(f"{right} of {total} lines read right (spaces aside)")
    return right < 0.8 * total


if __name__ == "__main__":
    sys.exit(main())
