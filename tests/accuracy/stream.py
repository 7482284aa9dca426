#!/usr/bin/env python3
"""A voice activity detector over a stream: 200 frames, its state fed back, stay within 5e-4 of ONNX Runtime's stream.

    stream.py BUILD MODELS silero_vad
"""
import sys

import numpy as np

from models import SHAPES, VALUES, Bench, difference, flag, runtime

FRAMES, RATE, CONTEXT, HOP = 200, 16000, 64, 512


def voice_like(rng):
    """A signal that comes and goes: harmonics of a wandering pitch in noise, silent every other half second."""
    time = np.arange(CONTEXT + FRAMES * HOP) / RATE
    phase = 2 * np.pi * np.cumsum(120 + 30 * np.sin(2 * np.pi * 1.3 * time)) / RATE
    voice = sum(np.sin(k * phase) / k for k in range(1, 20)) * (np.floor(2 * time) % 2)
    return (0.2 * voice + 0.01 * rng.standard_normal(len(time))).astype(np.float32)


def main(build, models, name):
    bench, shapes, values = Bench(build, models), SHAPES[name], VALUES[name]
    file = bench.build_engine(name, f"--shapes={flag(shapes, values)}")
    reference, signal, worst = runtime(bench.models / f"{name}.onnx"), voice_like(np.random.default_rng(0)), 0.0
    states = [np.zeros(shapes["state"], np.float32)] * 2
    heard = []
    with bench.open(file, 1) as engine:
        for frame in range(FRAMES):
            samples = signal[None, frame * HOP:frame * HOP + CONTEXT + HOP]
            feeds = [{"input": samples, "state": state, "sr": np.array(values["sr"], np.int64)} for state in states]
            got, want = engine(feeds[0]), reference(feeds[1])
            worst = max(worst, difference(got, want))
            states = [got["stateN"].copy(), want["stateN"]]
            heard.append(float(want["output"].item()))
    print(f"{name}: {FRAMES} frames, speech probability {min(heard):.3f} to {max(heard):.3f}, largest difference {worst:.1e}")
    return not worst <= 5e-4


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
