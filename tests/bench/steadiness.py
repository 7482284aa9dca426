#!/usr/bin/env python3
"""Measures three promises on the benchmark models.

    steadiness.py BUILD MODELS [--only builds|dynamic|contexts] [--names a,b] [--threads 1] [--builds 5] [--rounds 25]
                  [--seconds 0.1] [--level 3] [--keep DIR]

builds     cold builds of one model, each with a timing cache of its own, run equally long: slowest / fastest - 1 <= 3 %
dynamic    an engine of the range of shapes of tests/accuracy/dynamic_models.py, at its opt shape, takes no longer than
           one of that shape alone: ratio <= 1.05. Both have one timing cache, so that the search's luck does not count
contexts   two contexts of one engine, on --threads threads each, against one: throughput >= 1.8 times

--rounds   0 only builds
--keep     where engines stay for the next call, which builds only those that are missing

Engines take turns, many short ones, each a process of its own with a copy of the file of its own: where memory and the page
cache happen to lie makes nsnet2_16k, which reads all of L2 over and over, up to 25 % slower, for as long as they lie there.
What is compared is one round's times, then the median over the rounds is taken. The milliseconds printed are the medians.
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "accuracy"))
from dynamic_models import RANGES  # noqa: E402  (the path is set above)
from models import SHAPES, VALUES, Bench, flag  # noqa: E402


class Steadiness:
    def __init__(self, bench, given):
        self.bench, self.given = bench, given
        self.times, self.copy = bench.scratch / "times.json", bench.scratch / "turn.engine"

    def engine(self, name, kind, *flags):
        """The engine of that kind, built with a new timing cache unless the flags name one or it is there already."""
        file = self.bench.scratch / f"{name}.{kind}.{self.given.threads}.engine"
        if not file.exists():
            self.bench.build_engine(name, f"--saveEngine={file}", f"--threads={self.given.threads}",
                                    f"--builderOptimizationLevel={self.given.level}", *flags)
        return file

    def static(self, name, kind, *flags):
        return self.engine(name, kind, f"--shapes={flag(SHAPES[name], VALUES.get(name))}", *flags)

    def milliseconds(self, engine, contexts=1):
        """Median of a run at the engine's opt shape, with so many contexts running at once."""
        self.copy.unlink(missing_ok=True)  # a file that is overwritten keeps its pages
        shutil.copyfile(engine, self.copy)
        command = [str(self.bench.build / "bin/runengine"), f"--loadEngine={self.copy}", f"--threads={self.given.threads}",
                   f"--infStreams={contexts}", "--warmUp=60", f"--duration={self.given.seconds}", "--iterations=3",
                   "--quiet", f"--exportTimes={self.times}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{engine}: runengine exited with {done.returncode}: {done.stderr.strip()}")
        return statistics.median(query["latencyMs"] for query in json.loads(self.times.read_text()))

    def rounds(self, *turns):
        """The times of each round, one for each (engine, contexts); every round begins with the next of them."""
        rounds = []
        for number in range(self.given.rounds):
            times = [0.0] * len(turns)
            for i in range(len(turns)):
                turn = (number + i) % len(turns)
                times[turn] = self.milliseconds(*turns[turn])
            rounds.append(times)
        return rounds

    # Each gives the rounds and the promise's figure; nothing where it does not concern the model or there are no rounds.

    def builds(self, name):
        rounds = self.rounds(*((self.static(name, f"cold{i}"), 1) for i in range(self.given.builds)))
        if rounds:
            relative = [[time / statistics.median(times) for time in times] for times in rounds]
            medians = list(map(statistics.median, zip(*relative)))
            return rounds, max(medians) / min(medians) - 1

    def dynamic(self, name):
        if name not in RANGES:
            return None
        low, best, high = map(flag, RANGES[name][:3])
        cache = f"--timingCacheFile={self.bench.scratch / name}.cache"
        static = self.engine(name, "static", f"--shapes={best}", cache)
        ranging = self.engine(name, "dynamic", f"--minShapes={low}", f"--optShapes={best}", f"--maxShapes={high}", cache)
        if rounds := self.rounds((static, 1), (ranging, 1)):
            return rounds, statistics.median(of_range / of_one for of_one, of_range in rounds)

    def contexts(self, name):
        engine = self.static(name, "cold0")
        # A context begins its next run when the last one has ended: the throughput is contexts / time of a run.
        if rounds := self.rounds((engine, 1), (engine, 2)):
            return rounds, statistics.median(2 * alone / shared for alone, shared in rounds)


TITLES = {
    "builds": "cold builds: milliseconds of each, slowest / fastest - 1",
    "dynamic": "dynamic engines: milliseconds of the static one and the dynamic one at its opt shape, ratio",
    "contexts": "contexts: milliseconds of a run with one and with two at once, ratio of throughput",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("models")
    parser.add_argument("--only", choices=TITLES)
    parser.add_argument("--names", type=lambda text: text.split(","), default=list(SHAPES))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--builds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--level", type=int, default=3)
    parser.add_argument("--keep", type=pathlib.Path)
    given = parser.parse_args()
    if unknown := set(given.names) - set(SHAPES):
        parser.error(f"no such models: {', '.join(sorted(unknown))}; there are {', '.join(SHAPES)}")
    bench = Bench(given.build, given.models)
    if given.keep:
        given.keep.mkdir(parents=True, exist_ok=True)
        bench.scratch = given.keep.resolve()
    steadiness = Steadiness(bench, given)
    for promise in [given.only] if given.only else TITLES:
        print(TITLES[promise])
        figures = []
        for name in given.names:
            rounds, figure = getattr(steadiness, promise)(name) or ([], None)
            if rounds:
                figures.append(figure)
                shown = f"{figure:.1%}" if promise == "builds" else f"{figure:.3f}"
                medians = map(statistics.median, zip(*rounds))
                print(f"  {name:16} {' '.join(f'{median:8.4g}' for median in medians)}  {shown:>6}", flush=True)
        if len(figures) > 1 and promise != "builds":
            print(f"  geometric mean {statistics.geometric_mean(figures):.3f}, {min(figures):.3f} to {max(figures):.3f}")


if __name__ == "__main__":
    main()
