#!/usr/bin/env python3
"""Small models for model_fuzz to start from: those of ONNX's node tests, under their names.

    write_model_seeds.py NODE_TESTS FOLDER
"""
import pathlib
import sys

LARGEST = 4 << 10  # bytes; the larger ones hold the same operators with more data


def main(node_tests, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for model in sorted(pathlib.Path(node_tests).glob("*/model.onnx")):
        data = model.read_bytes()
        if len(data) <= LARGEST:
            (folder / model.parent.name).write_bytes(data)


if __name__ == "__main__":
    main(*sys.argv[1:])
