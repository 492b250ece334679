"""The files of the site: the pages of the docs and the files that they link to, at their own paths."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)#\s]+)|<img[^>]* src=\"([^\"]+)\"")
#: `make lab` makes it; the page of the lab shows it.
LAB = ROOT / "python" / "cwnd" / "_web" / "lab.html"
#: npm's iframe-worker, which `make lab` installs too.
WORKER = ROOT / "lab" / "node_modules" / "iframe-worker"
FRAME = """<a href="../lab.html">Open the lab as a page of its own</a>

<iframe src="../lab.html" title="The lab: the simulator with sliders" loading="lazy"
 style="width: 100%; height: 85vh; border: 1px solid #8888"></iframe>"""


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Paths begin at the root of the repository, so that a link is right in the tree and on the site."""
    theme = [each for each in files if each.src_dir != config.docs_dir]
    shown = [
        File(path.relative_to(ROOT).as_posix(), str(ROOT), config.site_dir, config.use_directory_urls)
        for path in reached(
            [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
        )
    ]
    if LAB.exists():
        shown.append(File.generated(config, "lab.html", abs_src_path=str(LAB)))
    if WORKER.exists():
        for name, source in (("iframe-worker.js", "shim/index.js"), ("iframe-worker-LICENSE", "LICENSE")):
            shown.append(File.generated(config, f"assets/{name}", abs_src_path=str(WORKER / source)))
    return Files([*theme, *shown])


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The lab stands in its page, over the whole width, where it is built."""
    if page.file.src_uri != "docs/lab.md" or not LAB.exists():
        return markdown
    page.meta["hide"] = ["navigation", "toc"]
    return markdown.replace("<!-- lab -->", FRAME)


def reached(paths: list[Path]) -> list[Path]:
    """These files and all that they link to, in the order in which they are found."""
    found = dict.fromkeys(paths)
    waiting = list(paths)
    while waiting:
        page = waiting.pop(0)
        for target in targets(page):
            path = (page.parent / target).resolve()
            if path not in found and path.is_file() and path.is_relative_to(ROOT):
                found[path] = None
                waiting.append(path)
    return list(found)


def targets(page: Path) -> list[str]:
    """The paths that a page links to; a file of another kind has none."""
    if page.suffix != ".md":
        return []
    return [unquote(link or source) for link, source in LINK.findall(page.read_text())]
