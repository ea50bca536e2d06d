"""Draw every example, or those named, into a folder of small PNG files: the gallery of the documentation.

python examples/all_pictures.py docs/pictures
python examples/all_pictures.py docs/pictures outlier lp_balls
"""

import runpy
import sys
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot
from PIL import Image

COLOURS = 96  # plenty for flat areas and thin lines, and a third of the bytes


def draw(example: Path, picture: Path) -> None:
    """Run one example and keep its picture with few colours."""
    sys.argv = [str(example), str(picture)]
    runpy.run_path(str(example), run_name="__main__")
    pyplot.close("all")
    Image.open(picture).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(picture, optimize=True)


if __name__ == "__main__":
    mpl.use("Agg")
    here = Path(__file__)
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    for example in sorted(here.parent.glob("*.py")):
        if example.name != here.name and (not names or example.stem in names):
            draw(example, folder / f"{example.stem}.png")
