"""What models are for, scored on samples that calibration has not seen: for int8_scores.py.

A task gives a model's samples, makes of a sample's outputs an answer small enough to keep, and scores answers (a number, and
what else to say of them): `least` is what int8 must reach, given the score of fp32.
"""
import numpy as np
import onnx

from models import ROOT


def saved_samples(folder):
    return [dict(np.load(file)) for file in sorted(folder.glob("*.npz"))]


class Task:
    low = best = high = None  # shapes of the engine's profile
    is_relative = False       # `margins` are how far below fp32's score one may be, and else scores themselves
    margins = {}              # by variant of int8_scores.py

    def __init__(self, models):
        pass

    def least(self, variant, exact_score):
        margin = self.margins.get(variant, self.margins.get("int8"))
        return exact_score - margin if self.is_relative else margin


class Lines(Task):
    """The share of lines that are read without a mistake, spaces aside: these models leave out many."""
    model, measure = "ppocrv4_rec", "lines read right"
    low, best, high = ({"x": (1, 3, 48, width)} for width in (32, 320, 960))
    is_relative, margins = True, {"int8": 0.01, "int8 --maxDrop=0.5%": 0.005}

    def __init__(self, models):
        metadata = {p.key: p.value for p in onnx.load(models / f"{self.model}.onnx").metadata_props}
        self._characters = metadata["character"].splitlines() + [" "]

    def samples(self, rendered, part):
        return [({"x": arrays["x"]}, str(arrays["truth"])) for arrays in saved_samples(rendered / self.model / part)]

    def answer(self, outputs):
        best = next(iter(outputs.values()))[0].argmax(axis=1)
        kept = best[(best != 0) & (best != np.concatenate([[-1], best[:-1]]))]
        return "".join(self._characters[index - 1] for index in kept).replace(" ", "")

    def score(self, answers, exact, truths):
        same = np.mean([answer == want for answer, want in zip(answers, exact)])
        return np.mean([answer == truth.replace(" ", "") for answer, truth in zip(answers, truths)]), \
            f"{same:.4f} as in fp32"


class Directions(Task):
    """The share of lines of which it says the same as fp32."""
    model, measure = "ppocr_cls", "labels as in fp32"
    low = best = high = {"x": (1, 3, 48, 192)}
    margins = {"int8": 0.995}

    def samples(self, rendered, part):
        arrays = saved_samples(rendered / self.model / part)[0]
        return [({"x": x[None]}, label) for x, label in zip(arrays["x"], arrays["label"])]

    def answer(self, outputs):
        return next(iter(outputs.values()))[0].argmax()

    def score(self, answers, exact, truths):
        right = np.mean([answer == truth for answer, truth in zip(answers, truths)])
        return np.mean([answer == want for answer, want in zip(answers, exact)]), f"{right:.4f} of them true"


class Pages(Task):
    """Of what is marked on the pages in its map or in fp32's, the share that is marked in both."""
    model, measure = "ppocrv4_det", "IoU of the pages' maps with fp32's"
    low = best = high = {"x": (1, 3, 640, 640)}
    margins = {"int8": 0.98}

    def samples(self, rendered, part):
        return [({"x": arrays["x"]}, None) for arrays in saved_samples(rendered / self.model / part)]

    def answer(self, outputs):
        return next(iter(outputs.values())) > 0.3

    def score(self, answers, exact, truths):
        both = np.array([(answer & want).sum() for answer, want in zip(answers, exact)])
        either = np.array([(answer | want).sum() for answer, want in zip(answers, exact)])
        return both.sum() / either.sum(), f"least of a page {min(both / np.maximum(either, 1)):.4f}"


class Sentences(Task):
    """The embedding of the sentence whose embedding is furthest from fp32's."""
    model, measure = "minilm_l3", "least cosine of an embedding to fp32's"
    low, best, high = (dict.fromkeys(("input_ids", "attention_mask"), (1, length)) for length in (4, 32, 64))
    margins = {"int8": 0.99}

    def samples(self, rendered, part):
        lines = [line for line in (ROOT / "calib_data/sentences.txt").read_text().splitlines() if line[0] != "#"]
        for line in lines[("calibration", "evaluation").index(part)::2]:
            ids = np.array([line.split("\t")[0].split()], np.int64)
            yield {"input_ids": ids, "attention_mask": np.ones_like(ids)}, None

    def answer(self, outputs):
        embedding = outputs["461"][0].astype(np.float64)
        return embedding / np.linalg.norm(embedding)

    def score(self, answers, exact, truths):
        cosines = [float(answer @ want) for answer, want in zip(answers, exact)]
        return min(cosines), f"mean {np.mean(cosines):.4f}"


TASKS = {task.model: task for task in (Lines, Directions, Pages, Sentences)}
