#!/usr/bin/env python3
"""Renders pages of text with fonts from Debian, and their truth, for reading with PP-OCR.

    render_text.py [--pages N] [--seed S] FOLDER

Writes FOLDER/page_K.npy (uint8, height x width x 3) and FOLDER/truth.json: for each page its lines from top to bottom,
{"text", "upside_down"}. Lines mix Latin, digits and Chinese in several fonts and sizes, on a shaded background with
noise. The same seed gives the same pages. Does nothing when the folder holds them already.
"""
import argparse
import json
import pathlib

import numpy as np
from PIL import Image, ImageDraw, ImageFont

FONTS = ["/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf",
         "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
         "/usr/share/fonts/truetype/liberation/LiberationSerif-Bold.ttf"]
CHINESE_FONT = "/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc"
WORDS = ("engine plan kernel tactic memory shape batch weights layer profile loader vector thread cache latency "
         "convolution matrix channel stride window tensor graph fusion arena").split()
CHINESE = ["人工智能", "快速推理", "机器学习", "图像识别", "中文文本", "神经网络", "计算机", "上海北京", "今天天气很好"]
PAGE = (640, 640)


def make_text(rng):
    """One line and the font that can draw it."""
    kind = rng.integers(4)
    if kind == 0:
        return f"{rng.integers(10, 99)}-{rng.integers(1000, 9999)}.{rng.integers(10, 99)}", rng.choice(FONTS)
    if kind == 1:
        return "".join(rng.choice(CHINESE, 2, replace=False)), CHINESE_FONT
    words = [str(word) for word in rng.choice(WORDS, rng.integers(2, 4), replace=False)]
    if kind == 2:
        words[0] = words[0].capitalize()
        words.append(str(rng.integers(100, 999)))
    return " ".join(words), rng.choice(FONTS)


def draw_page(rng):
    shade = np.linspace(rng.integers(215, 245), rng.integers(235, 255), PAGE[1])
    pixels = np.repeat(shade[None, :, None], PAGE[0], axis=0).repeat(3, axis=2).astype(np.uint8)
    page, lines, top = Image.fromarray(pixels), [], 28
    while top < PAGE[0] - 90:
        text, path = make_text(rng)
        font = ImageFont.truetype(str(path), int(rng.integers(26, 42)))
        left, upper, right, lower = font.getbbox(text)
        width, height = right - left, lower - upper
        if width > PAGE[1] - 60:
            continue
        ink = tuple(int(v) for v in rng.integers(0, 70, 3))
        mask = Image.new("L", (width + 8, height + 8), 0)
        ImageDraw.Draw(mask).text((4 - left, 4 - upper), text, fill=255, font=font)
        upside_down = bool(rng.random() < 0.2)
        if upside_down:
            mask = mask.rotate(180)
        x = int(rng.integers(20, PAGE[1] - width - 30))
        page.paste(ink, (x, top), mask)
        lines.append({"text": text, "upside_down": upside_down})
        top += height + int(rng.integers(34, 60))
    noisy = np.asarray(page).astype(np.float32) + rng.normal(0, 4, (*PAGE, 1))
    return np.clip(noisy, 0, 255).astype(np.uint8), lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=3)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    made_with = f"{arguments.pages} {arguments.seed}"
    truth_file = arguments.folder / "truth.json"
    if truth_file.exists() and json.loads(truth_file.read_text())["made_with"] == made_with:
        return
    arguments.folder.mkdir(parents=True, exist_ok=True)
    rng, pages = np.random.default_rng(arguments.seed), []
    for index in range(arguments.pages):
        pixels, lines = draw_page(rng)
        np.save(arguments.folder / f"page_{index}.npy", pixels)
        pages.append(lines)
    truth_file.write_text(json.dumps({"made_with": made_with, "pages": pages}, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
