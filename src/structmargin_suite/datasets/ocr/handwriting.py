"""Words drawn by rule: the stand-in for scanned handwriting where it is not available.

A letter is a glyph of 7 x 5 cells. For every letter drawn, a random slant, stretch, shift and
thickness map the 16 x 8 pixels back to cells of the glyph; then each pixel is flipped with a small
probability. Words come from a list in which all letters occur, in roughly English proportions.
"""

from __future__ import annotations

import numpy as np

HEIGHT, WIDTH = 16, 8
PIXELS = HEIGHT * WIDTH
FIRST_LETTER = ord("a")
NOISE = 0.04

LIST = """
    able about above action adjective again along amazing analysis another around because before belong
    between bring brought building capture certain change children circle common company complex country
    crazy decade different divide doubt each earth economy equal exactly example family figure first
    following freeze general give great ground group hazard however hundred important index industry
    interest jewel join journey judge jump kind knowledge language large letter light little machine
    market measure million minute moment mountain natural nothing number object often open order other
    paper people picture place plant point possible problem puzzle quality question quick quiet ready
    reason remember rhythm right river school second sentence several should simple something sound
    special station story strange street study subject table thing think thought through together toward
    travel trouble under until usually value voice watch water weather weekly whole window within
    without world would write yellow yesterday young zero
"""
WORDS = LIST.split()

GLYPHS = """
    ..... ..... .###. ....# .#### #...# .####
    #.... #.... #.##. ##..# #...# #...# ####.
    ..... ..... .###. #.... #.... #...# .###.
    ....# ....# .##.# #..## #...# #...# .####
    ..... ..... .###. #...# ##### #.... .###.
    ..##. .#..# .#... ###.. .#... .#... .#...
    ..... .#### #...# #...# .#### ....# .###.
    #.... #.... #.##. ##..# #...# #...# #...#
    ..#.. ..... .##.. ..#.. ..#.. ..#.. .###.
    ...#. ..... ..##. ...#. ...#. #..#. .##..
    #.... #.... #..#. #.#.. ##... #.#.. #..#.
    .##.. ..#.. ..#.. ..#.. ..#.. ..#.. .###.
    ..... ..... ##.#. #.#.# #.#.# #...# #...#
    ..... ..... #.##. ##..# #...# #...# #...#
    ..... ..... .###. #...# #...# #...# .###.
    ..... ####. #...# #...# ####. #.... #....
    ..... .#### #...# #...# .#### ....# ....#
    ..... ..... #.##. ##..# #.... #.... #....
    ..... ..... .#### #.... .###. ....# ####.
    .#... .#... ###.. .#... .#... .#..# ..##.
    ..... ..... #...# #...# #...# #..## .##.#
    ..... ..... #...# #...# #...# .#.#. ..#..
    ..... ..... #...# #...# #.#.# #.#.# .#.#.
    ..... ..... #...# .#.#. ..#.. .#.#. #...#
    ..... #...# #...# #...# .#### ....# .###.
    ..... ..... ##### ...#. ..#.. .#... #####
"""


def glyphs() -> np.ndarray:
    """The 26 glyphs as a boolean array (26, 7, 5)."""
    lines = [line.split() for line in GLYPHS.strip().splitlines()]
    return np.array([[[cell == "#" for cell in row] for row in letter] for letter in lines])


def write_letters(rng: np.random.Generator, labels: np.ndarray) -> np.ndarray:
    """Pictures (N, 128) of zeros and ones, row by row, for labels (N,) in 0 .. 25."""
    N = len(labels)
    slant, turn = rng.normal(0.0, 0.09, size=(2, N, 1, 1))
    tall, wide = rng.normal(1.0, 0.09, size=(2, N, 1, 1))
    down, right = rng.normal(0.0, 0.35, size=(2, N, 1, 1))
    pen = rng.uniform(-0.1, 0.35, size=(N, 1, 1))
    row = (np.arange(HEIGHT)[None, :, None] + 0.5) / HEIGHT - 0.5
    column = (np.arange(WIDTH)[None, None, :] + 0.5) / WIDTH - 0.5
    at_row = (row + turn * column) / tall * 7 + 3.5 + down
    at_column = (column + slant * row * 2) / wide * 5 + 2.5 + right
    cells = np.pad(glyphs(), ((0, 0), (1, 1), (1, 1)))
    drawn = np.zeros((N, HEIGHT, WIDTH), dtype=bool)
    for side in (0.0, 1.0):
        i = np.clip(np.floor(at_row) + 1, 0, 8).astype(np.intp)
        j = np.clip(np.floor(at_column + side * pen) + 1, 0, 6).astype(np.intp)
        drawn |= cells[labels[:, None, None], i, j]
    flipped = rng.random((N, HEIGHT, WIDTH)) < NOISE
    return (drawn ^ flipped).reshape(N, PIXELS).astype(np.uint8)


def write_words(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """n random words of the list: labels (N,), lengths (n,) and pictures (N, 128) of their letters."""
    words = [WORDS[k] for k in rng.integers(0, len(WORDS), size=n)]
    text = "".join(words).encode("ascii")
    labels = (np.frombuffer(text, dtype=np.uint8) - FIRST_LETTER).astype(np.uint8)
    return labels, np.array([len(word) for word in words], dtype=np.int64), write_letters(rng, labels)
