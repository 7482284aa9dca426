#!/usr/bin/env python3
"""Two builds with one timing cache, from other folders to other paths, are the same bytes.

    reproducible.py BUILD MODELS NAME
"""
import os
import shutil
import sys

from models import SHAPES, Bench, flag


def main(build, models, name):
    bench, shapes = Bench(build, models), flag(SHAPES[name])
    cache = bench.scratch / "timing.cache"
    timed = ("--builderOptimizationLevel=3", "--avgTiming=1", f"--timingCacheFile={cache}", f"--shapes={shapes}")
    bench.build_engine(name, *timed)  # fills the cache
    files = []
    for place in ("here", "there/deeper"):
        folder = bench.scratch / place
        folder.mkdir(parents=True)
        shutil.copy(bench.models / f"{name}.onnx", folder / "model.onnx")
        os.chdir(folder)
        bench.build_engine(name, "--onnx=model.onnx", "--saveEngine=of.engine", *timed)
        files.append((folder / "of.engine").read_bytes())
    same = files[0] == files[1]
    print(f"{name}: two builds of {len(files[0])} bytes are {'the same' if same else 'DIFFERENT'}")
    return not same


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
