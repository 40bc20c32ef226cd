"""The README's first example runs as it stands; its picture and papers are those of the project."""

from __future__ import annotations

import io
import re

from PIL import Image

from helpers.browser import find
from helpers.toy_project import HERE
from structmargin_suite.cli import main
from structmargin_suite.publish.papers import PAPERS
from structmargin_suite.publish.previews.picture import WIDTH, WINDOW, small

README = (HERE / "README.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
MOST_WORDS = 2000


def test_digits_example(capsys):
    exec(compile(EXAMPLE, "README.md", "exec"), {})
    certificate, accuracy = capsys.readouterr().out.split("\n")[:2]
    primal, gap = map(float, certificate.split())
    assert 0 <= gap <= 1e-2 * primal
    assert float(accuracy) > 0.9


def test_the_four_papers_are_named_and_linked_before_the_first_section():
    first = README.split("\n## ")[0]
    for paper in PAPERS.values():
        assert f"[{paper.title}](https://" in first
        assert not paper.doi or f"(https://doi.org/{paper.doi})" in first
        assert all(name.split()[-1] in first for name in paper.authors)


def test_it_can_be_read_in_one_sitting():
    shown = re.sub(r"<details>.*?</details>", "", README, flags=re.DOTALL)  # without what is folded
    assert len(shown.split()) <= MOST_WORDS


def test_the_picture_is_small_and_shows_the_page(tmp_path, capsys):
    committed = HERE / "docs" / "pictures" / "overview.png"
    assert "(docs/pictures/overview.png)" in README and committed.stat().st_size < 150_000
    with Image.open(committed) as image:
        assert image.size == (WIDTH, round(WINDOW[1] * WIDTH / WINDOW[0]))
        assert len(image.convert("RGB").getcolors(1 << 20)) > 20, "it is not blank"
    page = tmp_path / "results" / "snapshot" / "index.html"
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "suite.yaml").write_text("")
    if find() is None:
        assert main(["--root", str(tmp_path), "picture"]) == 0
        assert "stays as it is" in capsys.readouterr().out
        return
    assert main(["--root", str(tmp_path), "picture"]) == 1
    assert "run structmargin snapshot first" in capsys.readouterr().err
    page.parent.mkdir(parents=True)
    page.write_text("<body style='margin: 0; background: #204060'></body>")
    assert main(["--root", str(tmp_path), "picture"]) == 0
    with Image.open(tmp_path / "docs" / "pictures" / "overview.png") as image:
        assert image.convert("RGB").getpixel((500, 300)) == (0x20, 0x40, 0x60)


def test_a_picture_is_made_smaller():
    target = io.BytesIO()
    Image.new("RGB", (2 * WIDTH, 300), "red").save(target, "PNG")
    with Image.open(io.BytesIO(small(target.getvalue()))) as image:
        assert image.size == (WIDTH, 150) and image.mode == "P"
