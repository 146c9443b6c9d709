"""Writes src/heed/corpora/like_letters.json: characters with the same outline in a font.

python benchmarks/like_letters.py DejaVuSans.ttf DejaVuSansMono.ttf

With the fonts of DejaVu 2.37; fonttools is in envs/development.lock.
"""

import json
import sys
from pathlib import Path

from fontTools.pens.recordingPen import DecomposingRecordingPen
from fontTools.ttLib import TTFont

group_of: dict[str, list[str]] = {}
for path in sys.argv[1:]:
    font = TTFont(path, lazy=True)
    glyphs, first = font.getGlyphSet(), {}
    for point, name in sorted(font.getBestCmap().items()):
        pen = DecomposingRecordingPen(glyphs)
        glyphs[name].draw(pen)
        letter, other = chr(point), first.setdefault(str(pen.value), chr(point))
        mine, others = group_of.setdefault(letter, [letter]), group_of.setdefault(other, [other])
        if mine is not others:
            others += mine
            group_of.update(dict.fromkeys(mine, others))
groups = sorted({"".join(sorted(group)) for group in group_of.values() if len(group) > 1})
text = "[\n" + ",\n".join(map(json.dumps, groups)) + "\n]\n"
Path("src/heed/corpora/like_letters.json").write_text(text, encoding="ascii")
