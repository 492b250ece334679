"""Two-column LaTeX with three figures and a table of a result, for a look at how they print.

Needs pdflatex with IEEEtran and booktabs, and pdffonts: texlive-publishers, texlive-latex-recommended and
poppler-utils of Debian. Writes page.tex, its figures and page.pdf to a folder; fails if LaTeX warns of a box
that is too wide, or if a font is Type 3 or not embedded.

    .venv/bin/python tools/latex_page.py target/latex-page
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import cwnd

#: Figures, with the caption that has the title in their place.
FIGURES = {
    "cwnd": "Congestion windows of one flow each, 50 Mbit/s, RTT 40 ms.",
    "throughput-buffer": "Throughput against the buffer, means of five seeds with 95\\,\\% intervals.",
    "throughput-delay": "Throughput against delay: marks are means, ellipses one standard deviation.",
}
BUFFERS = (20, 60, 180)
PAGE = r"""\documentclass[conference]{IEEEtran}
\usepackage{booktabs,graphicx}
\begin{document}
\title{Figures and a table of a simulation}
\author{\IEEEauthorblockN{A page to look at}}
\maketitle
\section{Figures}
The widths of the figures are those of the column, so that they are not scaled and their letters have
8 points.
%s
\section{A table}
\begin{table*}[t]
\caption{Mean and half of the 95\,\%% interval over five seeds.}
\centering
%s
\end{table*}
It is as wide as the page.
\end{document}
"""
FIGURE = r"""\begin{figure}[t]
\centering\includegraphics{%s}
\caption{%s}
\end{figure}
"""


def refused_fonts(pdf: Path) -> list[str]:
    """The fonts of a PDF that conferences refuse: of Type 3, or not embedded."""
    done = subprocess.run(["pdffonts", pdf], capture_output=True, text=True, check=True)
    refused = []
    for line in done.stdout.splitlines()[2:]:
        name, *_, embedded, _, _, _, _ = line.split()
        if "Type 3" in line or embedded != "yes":
            refused.append(f"{pdf}: the font {name}: {line}")
    return refused


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "target/latex-page")
    for program in ("pdflatex", "pdffonts"):
        if shutil.which(program) is None:
            sys.exit(f"{program} is missing; see the beginning of {__file__}")
    folder.mkdir(parents=True, exist_ok=True)
    path = {"rate": "50 Mbps", "delay": "20 ms", "per": 1e-4, "duration": "20 s", "repeat": 5}
    names = ("cubic", "reno", "bbr3")
    swept = cwnd.run(
        [cwnd.dumbbell(cca, buffer=size, name=f"{cca}, {size}", **path) for cca in names for size in BUFFERS]
    )
    for kind in FIGURES:
        of_one = [f"{cca}, {BUFFERS[1]}" for cca in names] if kind == "cwnd" else None
        swept.plot(kind, folder / f"{kind}.pdf", scenarios=of_one, figure_width="ieee")
    figures = "".join(FIGURE % (f"{kind}.pdf", caption) for kind, caption in FIGURES.items())
    (folder / "page.tex").write_text(PAGE % (figures, swept.to_latex()))
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        sys.exit(done.stdout[-2000:])
    problems = [line for line in done.stdout.splitlines() if line.startswith("Overfull")]
    problems += refused_fonts(folder / "page.pdf")
    if problems:
        sys.exit("\n".join(problems))
    print(f"{folder / 'page.pdf'}: no box is too wide, and all fonts are embedded")


if __name__ == "__main__":
    main()
