"""Small readers of LaTeX, Markdown and HTML: what a text shows, and an error where it would be obeyed."""

from __future__ import annotations

import html.parser
import re

from structmargin_suite.publish import escapes

COMMANDS = {
    "textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textless": "<", "textgreater": ">",
    "textbar": "|",
}  # fmt: skip
MATHS = {value: key for key, value in escapes.TEX.items() if value.startswith("$")}


def read_latex(source: str) -> str:
    """What LaTeX prints; a character that it would obey is refused."""
    shown, place = "", 0
    while place < len(source):
        rest = source[place:]
        command = re.match(r"\\([a-zA-Z]+)\{\}", rest)
        if command:
            shown += COMMANDS[command[1]]
            place += len(command[0])
        elif re.match(r"\\[{}$&%#_]", rest):
            shown += rest[1]
            place += 2
        elif maths := next((each for each in MATHS if rest.startswith(each)), None):
            shown += MATHS[maths]
            place += len(maths)
        elif group := re.match(r"\{([\[\]*])\}", rest):
            shown += group[1]
            place += 3
        else:
            assert rest[0] not in "\\{}$&%#_~^<>|[]*", (source, place)
            shown += rest[0]
            place += 1
    return shown


def read_markdown(source: str) -> str:
    """What Markdown shows of a line; a character that it would obey is refused."""
    assert not re.match(r" |#|>|[-+=*_]|[0-9]+[.)]|\||`", source), source
    shown, place = "", 0
    while place < len(source):
        if re.match(r"\\[!-/:-@\[-`{-~]", source[place:]):
            shown += source[place + 1]
            place += 2
            continue
        each = source[place]
        inside_a_word = re.search(r"[A-Za-z0-9]$", source[:place]) and re.match(
            r"[A-Za-z0-9]", source[place + 1 :]
        )
        assert each not in "\\`*[]<>&|~$" and (each != "_" or inside_a_word), (source, place)
        shown += each
        place += 1
    return shown


def in_one_line(text: str) -> str:
    return " ".join("".join(each for each in text if each.isprintable() or each.isspace()).split())


class PageReader(html.parser.HTMLParser):
    """The text, the tags with their attributes and the comments of a page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.text, self.tags, self.comments = "", [], []
        self.feed(source)
        self.close()

    def handle_data(self, data):
        self.text += data

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_comment(self, data):
        self.comments.append(data)
