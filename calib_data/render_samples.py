#!/usr/bin/env python3
"""Renders samples for PP-OCR's three models: one set of each to calibrate with and one, of other texts, to evaluate on.

    render_samples.py [--lines N] [--pages N] [--seed S] FOLDER

Writes FOLDER/MODEL/calibration and FOLDER/MODEL/evaluation, which --calibData and --evalData take, with arrays of
float32 as the model wants them:

    ppocrv4_rec/SET/line_K.npz     "x" (1 x 3 x 48 x width), "truth" (the text); a file for each of N lines
    ppocr_cls/SET/lines.npz        "x" (N x 3 x 48 x 192), "label" (1: upside down)
    ppocrv4_det/SET/page_K.npz     "x" (1 x 3 x 640 x 640)

A third of the lines each are digits, Latin and Chinese, in many fonts and sizes, dark on light and light on dark, seen
at a slant, blurred and with noise. The same seed gives the same samples. Does nothing when the folder holds them.
"""
import argparse
import json
import pathlib

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from render_text import CHINESE, CHINESE_FONT, WORDS, draw_page

FONT_FOLDER = pathlib.Path("/usr/share/fonts/truetype")
FONTS = [str(FONT_FOLDER / name) for name in (
    "dejavu/DejaVuSans.ttf", "dejavu/DejaVuSans-Bold.ttf", "dejavu/DejaVuSansMono.ttf", "dejavu/DejaVuSerif.ttf",
    "liberation/LiberationSans-Regular.ttf", "liberation/LiberationSans-Italic.ttf",
    "liberation/LiberationSerif-Regular.ttf", "liberation/LiberationSerif-Bold.ttf",
    "liberation/LiberationMono-Regular.ttf", "liberation/LiberationSansNarrow-Regular.ttf")]
MORE_WORDS = ("the and for with from not are was this that have which one time water people over line work year place "
              "right small number world house school city river road station market price total ticket open closed "
              "north south east west monday friday june october street office bank hotel garden museum").split()
MORE_CHINESE = ("中国 学生 老师 朋友 时间 工作 生活 问题 世界 国家 城市 学校 公司 银行 医院 车站 机场 地铁 酒店 超市 "
                "早上 晚上 明天 昨天 星期 春天 夏天 冬天 下雨 大风 苹果 牛奶 面包 米饭 茶叶 咖啡 电话 手机 电脑 网络 "
                "出口 入口 禁止停车 小心地滑 请勿吸烟 营业时间 欢迎光临 谢谢惠顾 合计金额 身份证号 联系方式 收件地址").split()
SETS = "calibration", "evaluation"
HEIGHT, WIDTHS, DIRECTION_WIDTH = 48, (32, 960), 192  # what the models of lines read
PAGE_MEAN, PAGE_DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


# ---- Texts

def make_digits(rng):
    kind = rng.integers(5)
    if kind == 0:
        return f"20{rng.integers(10, 30)}-{rng.integers(1, 13):02}-{rng.integers(1, 29):02}"
    if kind == 1:
        return f"{rng.integers(0, 24):02}:{rng.integers(0, 60):02}:{rng.integers(0, 60):02}"
    if kind == 2:
        return f"{rng.integers(1, 10000)}.{rng.integers(0, 100):02}"
    if kind == 3:
        return f"{rng.integers(130, 190)}{rng.integers(10**8):08}"
    return f"{rng.integers(1, 100)}%"


def make_latin(rng):
    words = [str(word) for word in rng.choice(WORDS + MORE_WORDS, rng.integers(1, 6))]
    style = rng.integers(4)
    if style == 0:
        words = [word.capitalize() for word in words]
    elif style == 1:
        words = [word.upper() for word in words]
    elif style == 2:
        words[0] = words[0].capitalize()
        words.append(str(rng.integers(1, 1000)))
    return " ".join(words)


def make_chinese(rng):
    text = "".join(rng.choice(CHINESE + MORE_CHINESE, rng.integers(1, 5)))
    return text + str(rng.integers(1, 100)) if rng.random() < 0.25 else text


def make_texts(rng, count):
    """As many texts, none twice, and the font of each."""
    texts = {}
    while len(texts) < count:
        make = (make_digits, make_latin, make_chinese)[len(texts) % 3]
        font = CHINESE_FONT if make is make_chinese else str(rng.choice(FONTS))
        texts.setdefault(make(rng), font)
    return list(texts.items())


# ---- Pictures

def perspective(corners, width, height):
    """The coefficients by which PIL fetches, for each place of a width x height picture, a place inside the corners
    (from the upper left one, clockwise)."""
    rows, wanted = [], []
    for (x, y), (u, v) in zip(((0, 0), (width, 0), (width, height), (0, height)), corners):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        wanted += [u, v]
    return np.linalg.solve(np.array(rows, float), np.array(wanted, float))


def draw_line(rng, text, path):
    """A picture of the line, height x width x 3 bytes, at some size."""
    size = int(rng.integers(18, 64))
    font = ImageFont.truetype(path, size)
    left, upper, right, lower = font.getbbox(text)
    margin = size // 2
    mask = Image.new("L", (right - left + 2 * margin, lower - upper + 2 * margin), 0)
    ImageDraw.Draw(mask).text((margin - left, margin - upper), text, fill=255, font=font)

    # The corners of what is seen, a little off those of the picture.
    near = margin - rng.uniform(0.1, 0.35) * margin
    width, height = mask.size
    corners = [(x + rng.uniform(-0.25, 0.25) * near, y + rng.uniform(-0.25, 0.25) * near)
               for x, y in ((near, near), (width - near, near), (width - near, height - near), (near, height - near))]
    width, height = int(width - 2 * near), int(height - 2 * near)
    mask = mask.transform((width, height), Image.PERSPECTIVE, perspective(corners, width, height), Image.BICUBIC)

    paper, ink = rng.uniform(170, 255, 3), rng.uniform(0, 90, 3)
    if rng.random() < 0.25:
        paper, ink = ink, paper
    share = np.asarray(mask, np.float32)[..., None] / 255
    shade = 1 - rng.uniform(0, 0.25) * np.linspace(0, 1, width)[None, :, None]
    pixels = (paper * (1 - share) + ink * share) * shade
    picture = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
    picture = picture.filter(ImageFilter.GaussianBlur(rng.uniform(0, 0.03 * size)))
    noisy = np.asarray(picture, np.float32) + rng.normal(0, rng.uniform(0, 10), (height, width, 1))
    return np.clip(noisy, 0, 255).astype(np.uint8)


# ---- Samples

def normalise(pixels, mean, deviation):
    scaled = (pixels.astype(np.float32) / 255 - np.float32(mean)) / np.float32(deviation)
    return np.ascontiguousarray(scaled.transpose(2, 0, 1)[None])


def line_of(pixels, least, most):
    """At the models' height, floats from -1 to 1."""
    width = int(np.clip(round(pixels.shape[1] * HEIGHT / pixels.shape[0]), least, most))
    return normalise(np.asarray(Image.fromarray(pixels).resize((width, HEIGHT), Image.BILINEAR)), 0.5, 0.5)


def write_lines(rng, folder, part, texts):
    """Those of recognition, and of the same lines, half of them turned, those of direction."""
    directions = np.zeros((len(texts), 3, HEIGHT, DIRECTION_WIDTH), np.float32)
    labels = rng.integers(0, 2, len(texts))
    for index, (text, font) in enumerate(texts):
        pixels = draw_line(rng, text, font)
        np.savez(folder / "ppocrv4_rec" / part / f"line_{index:04}.npz", x=line_of(pixels, *WIDTHS), truth=text)
        line = line_of(pixels[::-1, ::-1] if labels[index] else pixels, 1, DIRECTION_WIDTH)
        directions[index, ..., :line.shape[3]] = line[0]
    np.savez(folder / "ppocr_cls" / part / "lines.npz", x=directions, label=labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=300, help="in each set")
    parser.add_argument("--pages", type=int, default=4, help="in each set")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    made_with = {"lines": arguments.lines, "pages": arguments.pages, "seed": arguments.seed}
    note = arguments.folder / "made_with.json"
    if note.exists() and json.loads(note.read_text()) == made_with:
        return
    note.unlink(missing_ok=True)  # until all is there
    rng = np.random.default_rng(arguments.seed)
    texts = make_texts(rng, 2 * arguments.lines)
    for number, part in enumerate(SETS):
        for model in ("ppocrv4_rec", "ppocr_cls", "ppocrv4_det"):
            folder = arguments.folder / model / part
            folder.mkdir(parents=True, exist_ok=True)
            for stale in folder.glob("*.npz"):
                stale.unlink()
        write_lines(rng, arguments.folder, part, texts[number * arguments.lines:(number + 1) * arguments.lines])
        for index in range(arguments.pages):
            page = normalise(draw_page(rng)[0], PAGE_MEAN, PAGE_DEVIATION)
            np.savez(arguments.folder / "ppocrv4_det" / part / f"page_{index:04}.npz", x=page)
    note.write_text(json.dumps(made_with))


if __name__ == "__main__":
    main()
