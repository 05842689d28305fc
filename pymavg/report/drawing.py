"""How charts look: colours that stand out on light and dark pages and to colour-blind readers; SVG and PNG of a figure.

Text, axes and grid of an SVG take the page's text colour (`currentColor`); the PNG is for a white background. Lines
differ by colour, dash and marker, bars by colour and hatch.
"""

import io
import re

import matplotlib
from matplotlib.figure import Figure

from pymavg.files import atomic_open

INK = "#010203"  # stands for currentColor; no chart draws with it for another reason
COLOURS = ("#2f7fc1", "#d55e00", "#00916e", "#b565a7", "#a07800", "#7f7f7f")
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))
COLOURED = (
    *("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor"),
    *("xtick.color", "ytick.color", "grid.color", "hatch.color"),
)
STYLE = {
    "svg.fonttype": "none",  # text stays text: searchable, in the page's colour
    "svg.hashsalt": "pymavg",
    "text.parse_math": False,  # a name may hold a dollar sign
    "font.size": 11,
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.25,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "legend.frameon": False,
    "hatch.linewidth": 0.5,
    "figure.constrained_layout.use": True,
    **dict.fromkeys(COLOURED, INK),
}
UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")  # no XML may hold them, or nobody sees them


def styled(draw):
    """Decorate a function that returns a Figure: it draws in the house style."""

    def drawn(*args, **kwargs):
        with matplotlib.rc_context(STYLE):
            return draw(*args, **kwargs)

    drawn.__doc__, drawn.__name__ = draw.__doc__, draw.__name__
    return drawn


def panels(count, width=9.6, height=3.3, rows=1):
    """Return (figure, list of axes): `count` panels, beside each other or in `rows` rows."""
    figure = Figure(figsize=(width, height))
    axes = figure.subplots(rows, -(-count // rows), squeeze=False).ravel()
    return figure, list(axes)


def look(number):
    """Return the colour, dash and marker of line `number`."""
    turn = number // len(COLOURS)
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": DASHES[turn % len(DASHES)],
        "marker": MARKERS[(number + turn) % len(MARKERS)],
    }


def label(text, longest=48):
    """Return a name as charts and pages show it: no unseen characters, not too long, in a legend in any case."""
    text = UNSEEN.sub("\ufffd", str(text))
    text = text if len(text) <= longest else f"{text[: longest // 2 - 1]}…{text[-longest // 2 :]}"
    return f" {text}" if text.startswith("_") else text  # matplotlib hides labels that begin with an underscore


def below(figure, axes, columns=3):
    """Put one legend for all panels under them; `axes` are those that hold the labelled lines."""
    named = {}
    for one in axes:
        for handle, text in zip(*one.get_legend_handles_labels(), strict=True):
            named.setdefault(text, handle)
    if named:
        figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=min(columns, len(named)))


def svg(figure, title):
    """Return a figure as an <svg> element for a page: no header, no metadata, the text colour that of the page."""
    stream = io.StringIO()
    with matplotlib.rc_context(STYLE):
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(stream, format="svg", transparent=True, metadata=nothing)
    text = stream.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    text = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{title}-", text)  # several charts share the page's names
    return text.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)


def write_png(figure, path):
    """Write a figure as PNG with a white background."""
    with matplotlib.rc_context(STYLE), atomic_open(path, "wb") as stream:
        figure.savefig(stream, format="png", dpi=110, facecolor="white", metadata={"Software": None})
