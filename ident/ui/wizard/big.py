"""Large letters of half blocks, to be read from two metres away."""

from functools import lru_cache

_FONT = """
A .#. #.# ### #.# #.#
B ##. #.# ##. #.# ##.
C .## #.. #.. #.. .##
D ##. #.# #.# #.# ##.
E ### #.. ##. #.. ###
F ### #.. ##. #.. #..
G .## #.. #.# #.# .##
H #.# #.# ### #.# #.#
I ### .#. .#. .#. ###
J ..# ..# ..# #.# .#.
K #.# #.# ##. #.# #.#
L #.. #.. #.. #.. ###
M #...# ##.## #.#.# #...# #...#
N #..# ##.# #.## #..# #..#
O .#. #.# #.# #.# .#.
P ##. #.# ##. #.. #..
Q .##. #..# #..# #.#. .#.#
R ##. #.# ##. #.# #.#
S .## #.. .#. ..# ##.
T ### .#. .#. .#. .#.
U #.# #.# #.# #.# ###
V #.# #.# #.# #.# .#.
W #...# #...# #.#.# ##.## #...#
X #.# #.# .#. #.# #.#
Y #.# #.# .#. .#. .#.
Z ### ..# .#. #.. ###
0 ### #.# #.# #.# ###
1 .#. ##. .#. .#. ###
2 ##. ..# .#. #.. ###
3 ##. ..# .#. ..# ##.
4 #.# #.# ### ..# ..#
5 ### #.. ##. ..# ##.
6 .## #.. ### #.# ###
7 ### ..# .#. .#. .#.
8 ### #.# ### #.# ###
9 ### #.# ### ..# ##.
: . # . # .
. . . . . #
, .. .. .. .# #.
! # # # . #
? ##. ..# .#. ... .#.
- ... ... ### ... ...
_ ... ... ... ... ###
' # # . . .
/ ..# ..# .#. #.. #..
( .# #. #. #. .#
) #. .# .# .# #.
+ ... .#. ### .#. ...
"""
_GLYPHS = {line[0]: line[2:].split(" ") for line in _FONT.strip().splitlines()}
_GLYPHS[" "] = [".."] * 5
_HEIGHT = 5
_BLOCKS = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}


@lru_cache(maxsize=64)
def big_text(text: str, width: int, rows: int) -> tuple[str, ...] | None:
    """Lines of half blocks that show ``text`` as large as it goes into ``width`` columns and ``rows`` rows.

    None where it does not fit, or has characters without a glyph: then it is to be written as it is.
    """
    words = text.upper().split()
    if not words or any(letter not in _GLYPHS for word in words for letter in word):
        return None
    for scale in (3, 2, 1):
        lines = _wrap(words, width // scale)
        height = _rows(scale)
        if lines is not None and len(lines) * height + (len(lines) - 1) * (scale > 1) <= rows:
            drawn = [_draw(line, scale) for line in lines]
            gap = [""] if scale > 1 else []
            return tuple(row for index, block in enumerate(drawn) for row in (gap if index else []) + block)
    return None


def _rows(scale: int) -> int:
    return (_HEIGHT * scale + 1) // 2


def _columns(text: str) -> int:
    return sum(len(_GLYPHS[letter][0]) + 1 for letter in text) - 1


def _wrap(words: list[str], width: int) -> list[str] | None:
    lines: list[str] = []
    for word in words:
        if _columns(word) > width:
            return None
        if lines and _columns(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _draw(text: str, scale: int) -> list[str]:
    pixels = [".".join(_GLYPHS[letter][row] for letter in text) for row in range(_HEIGHT)]
    large = ["".join(pixel * scale for pixel in row) for row in pixels for _ in range(scale)]
    if len(large) % 2:
        large.append("." * len(large[0]))
    return [
        "".join(_BLOCKS[top == "#", bottom == "#"] for top, bottom in zip(*pair, strict=True))
        for pair in zip(large[::2], large[1::2], strict=True)
    ]
