"""Plots for dark pages: `python benchmarks/dark.py docs/images/*.png` writes `<name>-dark.png` beside `<name>.png`.

The measured seconds of a plot are not stored, so the dark form is the picture itself in other colours: what is white
becomes the paper of the dark pictures of docs/images, what is black becomes their ink, greys stand between, and colours
keep their hue.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

#: as `.paper` and `.ink` of docs/images/window.py for dark pages
PAPER, INK = np.array([0x16, 0x1A, 0x21]), np.array([0xE4, 0xE8, 0xEF])
SUFFIX = "-dark"


def recoloured(picture: np.ndarray) -> np.ndarray:
    """(height, width, red green blue) from 0 to 255 -> the same for a dark page."""
    pixels = picture.astype(float)
    lightness = (pixels.max(axis=2, keepdims=True) + pixels.min(axis=2, keepdims=True)) / 2
    greys = INK + (PAPER - INK) * lightness / 255
    return np.clip(greys + pixels - lightness, 0, 255).round().astype(np.uint8)


def twin(file: Path) -> Path:
    """Write the dark form of a plot beside the plot."""
    with Image.open(file) as image:
        plain = Image.new("RGB", image.size, "white")
        plain.paste(image, mask=image.getchannel("A") if "A" in image.getbands() else None)
    dark = file.with_stem(file.stem + SUFFIX)
    Image.fromarray(recoloured(np.asarray(plain))).save(dark, optimize=True)
    return dark


def save(figure: Any, file: Path, **settings: Any) -> None:
    """A figure of matplotlib as a plot and its dark twin. settings: of `savefig`."""
    figure.savefig(file, **settings)
    twin(file)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        if not Path(name).stem.endswith(SUFFIX):
            print(twin(Path(name)))
