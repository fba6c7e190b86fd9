"""What is done to the rendered site so that it is light, works offline and can be used by everybody.

The renderer's pages ask the web for the equations' typesetter and for fonts, hold every picture inside, wrap each sign of code in a
tag, carry the whole menu, and have an index of the search that can't be read from a file. Each step below mends one of these, on every page.
"""
import base64
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zlib
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
KATEX = "0.16.22"
WEB_KATEX = re.compile(r"https://cdn\.jsdelivr\.net/npm/katex@[^/]+/dist/")
EMBEDDED = re.compile(r'src="data:image/png;base64,([A-Za-z0-9+/=\s]+)"')
DRAWN = re.compile(r'src="data:image/svg\+xml;base64,([A-Za-z0-9+/=\s]+)"')
UNSEEN = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>", re.DOTALL)
LONG_NUMBER = re.compile(r"(?<![\w.#])(-?\d+\.\d{3,})(?![\w.])")
MENU = re.compile(r'(<nav [^>]*id="quarto-sidebar"[^>]*>)(.*?)(</nav>)', re.DOTALL)
PLACE = re.compile(r' class="([^"]*) active" aria-current="page"')
LONG_SOURCE = re.compile(r'(<(?:pre class="sourceCode python module"|summary>Source[^<]*</summary>\s*<div [^>]*><div [^>]*><pre [^>]*)'
                         r'><code class="sourceCode python")>'
                         r"(.*?)(?=</code></pre>)", re.DOTALL)
UNFOCUSED = re.compile(r'<a (?=[^>]*data-bs-toggle="collapse")(?![^>]*\bhref=)([^>]*?) role="navigation"')
ICON = re.compile(r"\bbi-([\w-]+)")
STRINGS = re.compile(r'(?:<span class="(?:st|ss|ch)">[^<]*</span>){2,}')
HEADINGS = ("h2", "h3", "h4", "h5")
BLOCKS = (*HEADINGS, "p", "li", "td", "th", "div", "dt", "dd", "br")
SILENT = ("pre", "script", "style", "svg", "button", "summary", "nav", "dd", *HEADINGS)  # dd: of each parameter the name is enough
SILENT_CLASSES = {"math", "dataframe", "page-links", "section", "quarto-title-meta"}
KEYWORD = re.compile(r'<span class="(?:kw|cf|im)">([^<]*)</span>')
STRING = re.compile(r'<span class="(?:st|ss|ch)">([^<]*)</span>')
TAG = re.compile(r"<[^>]+>")
CODE_OR_PERCENT = re.compile(r"(<(pre|code|script|style|svg)\b.*?</\2>|<[^>]*>)|(?<=\d) (?=%)", re.DOTALL)
INDENTED = re.compile(r"(<(pre|script|style|textarea)\b.*?</\2>)|^[ \t]+", re.DOTALL | re.MULTILINE)
MARKED_FORMULA = re.compile(r'<span class="math inline">[^<]{5,18}</span>[.,;:)]+')
MENU_LINK = re.compile('<div class="sidebar-item-container">(<a href="[^"]*" class=")sidebar-item-text (sidebar-link[^>]*>)'
                       '<span class="menu-text">([^<]*)</span></a></div>(?=</li>)')
SKIP = '<a class="visually-hidden-focusable" href="#quarto-document-content">Skip to the text</a>'


def finish(site):
    "Every step, on a rendered site."
    ship_katex(fetch("katex", KATEX) / "dist", site)
    shutil.copy(ROOT / "tools" / "site.js", site / "site_libs" / "site.js")
    search_from_a_file(site)
    drop_web_fonts(site)
    for font in site.rglob("*.woff"): font.unlink()  # each stands beside its .woff2, which every browser reads
    drop_icons(site)
    menu = lighter((site / "index.html").read_text(encoding="utf-8"))
    (site / "site_libs" / "menu.js").write_text(f"window.siteMenu = {json.dumps(menu_of(reachable(menu)), ensure_ascii=False)};\n", encoding="utf-8")
    for page in sorted(site.rglob("*.html")):
        up = "../" * (len(page.relative_to(site).parts) - 1)
        text = WEB_KATEX.sub(f"{up}site_libs/katex/", page.read_text(encoding="utf-8"))
        text = text.replace("</title>", f'</title><script src="{up}site_libs/menu.js"></script><script src="{up}site_libs/site.js"></script>', 1)
        name = page.relative_to(site).with_suffix("").as_posix().replace("/", "-")
        text = reachable(together(plainer(lighter(text))))
        if page.parent.name in ("source", "reference") and page.stem != "index": text = alone(text)
        text = deflated(text)
        text = MENU.sub(rf'\1<script>putMenu("{up}", "{page.relative_to(site).as_posix()}")</script>\3', text)
        page.write_text(with_files(text, site, up, name), encoding="utf-8")


def menu_of(front):
    "What is inside the side menu, with addresses as the front page has them and no page marked: it would be a fifth of the site on every page."
    return PLACE.sub(r' class="\1"', MENU.search(front)[2]).replace('href="./', 'href="')


def deflated(text):
    "A page with the source of functions or of a module compressed, its anchors aside; site.js puts it in its place."
    def packed(found):
        anchors = "".join(re.findall(r'<span id="L\d+"></span>', found[2]))
        return f'{found[1]} data-deflated="{pack(found[2])}">{anchors}'

    return LONG_SOURCE.sub(packed, text)


def pack(text):
    "A text compressed, in letters."
    packer = zlib.compressobj(9, wbits=-15)
    return base64.b64encode(packer.compress(text.encode()) + packer.flush()).decode()


def fetch(name, version):
    "An unpacked package, downloaded with npm where it isn't there yet."
    folder = BUILD / f"{name}-{version}"
    if not folder.is_dir():
        if shutil.which("npm") is None: sys.exit(f"this needs npm, once, to fetch {name}")
        BUILD.mkdir(exist_ok=True)
        subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=BUILD, check=True, stdout=subprocess.DEVNULL)
        with tarfile.open(BUILD / f"{name}-{version}.tgz") as archive: archive.extractall(BUILD / "unpacked" / name, filter="data")
        shutil.move(BUILD / "unpacked" / name / "package", folder)
    return folder


def ship_katex(source, site):
    "Copy what typesets equations, with fonts in the one format that every browser reads."
    target = site / "site_libs" / "katex"
    for name in ("katex.min.css", "katex.min.js", "contrib/auto-render.min.js"):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / name, target / name)
    shutil.copytree(source / "fonts", target / "fonts", dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.ttf", "*.woff"))


def search_from_a_file(site):
    """A browser lets a page that was opened from a file fetch nothing, so the index of the search comes as a script; site.js loads it.
    It holds the prose of each section, by pages, and neither code nor printed numbers, which would be half of it and hide what is found."""
    index = site / "search.json"
    if not index.exists(): return
    pages, prose = {}, {}
    for entry in json.loads(index.read_text(encoding="utf-8")):
        name, _, anchor = entry["href"].partition("#")
        if name not in prose: prose[name] = Prose((site / name).read_text(encoding="utf-8")).sections
        text = " ".join("".join(prose[name].get(anchor, [entry["text"]])).split())
        pages.setdefault(name, [entry["title"]]).append([anchor, entry.get("section", ""), text])
    index_text = json.dumps(pages, ensure_ascii=False, separators=(",", ":"))
    (site / "search.js").write_text(f'window.searchPages = "{pack(index_text)}";\n', encoding="utf-8")
    index.unlink()
    for engine in site.rglob("fuse/fuse.min.js"): shutil.copy(ROOT / "tools" / "search.js", engine)


class Prose(HTMLParser):
    "What a page says in each of its sections, by the anchors of their headings; what comes before the first has none."

    def __init__(self, text):
        super().__init__()
        self.sections, self.anchor, self.inside, self.silent = {"": []}, "", False, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        if tag == "main": self.inside = True
        if not self.inside: return
        if self.silent: self.silent += [tag] * (tag == self.silent[0])
        elif tag in SILENT or SILENT_CLASSES & set((named.get("class") or "").split()): self.silent = [tag]
        if tag in HEADINGS and (anchor := named.get("data-anchor-id") or named.get("id")):
            self.anchor = anchor
            self.sections.setdefault(anchor, [])
        if tag in BLOCKS: self.sections[self.anchor].append(" ")

    def handle_endtag(self, tag):
        if tag == "main": self.inside = False
        if self.silent and tag == self.silent[0]: self.silent.pop()

    def handle_data(self, text):
        if self.inside and not self.silent: self.sections[self.anchor].append(text)


def drop_web_fonts(site):
    "Themes ask the web for a font; the next in their list, the system's, serves offline."
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        local = re.sub(r"@import\s+url\([\"']?(?:https?:)?//[^)]*\);?", "", text)
        if local != text: sheet.write_text(local, encoding="utf-8")


def drop_icons(site):
    "Keep the icons that a page or a script names, of two thousand."
    named = {name for file in (*site.rglob("*.html"), *site.rglob("site_libs/*.js")) for name in ICON.findall(file.read_text(encoding="utf-8"))}
    for sheet in site.rglob("bootstrap-icons.min.css"):
        rules = re.split(r"(?=\.bi-[\w-]+::before\{)", sheet.read_text(encoding="utf-8"))
        kept = [rule for rule in rules if not rule.startswith(".bi-") or ICON.match(rule, 1)[1] in named]
        sheet.write_text("".join(kept), encoding="utf-8")


def plainer(text):
    """Code without the tags that show nothing: those around signs and numbers, and those between two pieces of the same string. Keywords are bold and
    strings are `i`, as in styles.css, since their names thousands of times would be a megabyte."""
    text = re.sub(r'<span class="(?:op|bu|dv|fl)">([^<]*)</span>', r"\1", text)
    text = STRINGS.sub(lambda found: f'<span class="st">{TAG.sub("", found[0])}</span>', text)
    return STRING.sub(r"<i>\1</i>", KEYWORD.sub(r"<b>\1</b>", text))


def lighter(text):
    """The side menu, which is on every page, without tags and classes that change nothing about its links: half a megabyte; and
    lines without the blanks that they begin with, except in code."""
    text = MENU_LINK.sub(r"\1\2\3</a>", text)
    return INDENTED.sub(lambda found: found[1] or "", text)


def together(text):
    "On one line: a number and its percent sign, outside code, and a short formula and the mark after it."
    text = CODE_OR_PERCENT.sub(lambda found: found[0] if found[1] else "\u00a0", text)
    return MARKED_FORMULA.sub(r'<span class="kept">\g<0></span>', text)


def reachable(text):
    "The keyboard reaches what opens and closes a section of the menu, and a reader of screens is told what it is."
    text = UNFOCUSED.sub(r'<a href="#" \1 role="button"', text)
    text = text.replace('<nav id="quarto-sidebar"', '<nav aria-label="Pages" id="quarto-sidebar"', 1)
    return re.sub(r"(<body\b[^>]*>)", rf"\1{SKIP}", text, count=1)


def alone(text):
    "A page of one module without the side menu, which would be half of it."
    text = re.sub(r'<nav [^>]*id="quarto-sidebar".*?</nav>', "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'<nav class="quarto-secondary-nav">.*?</div></nav>', "", text, count=1, flags=re.DOTALL)
    return text.replace("nav-sidebar docked", "fullcontent", 1).replace("has-sidebar", "", 1)


def with_files(text, site, up, name):
    "The page with its pictures as files of their own, which a browser reads once and in the smallest form."
    folder = site / "figures"
    folder.mkdir(exist_ok=True)

    def filed(found):
        picture = Image.open(io.BytesIO(base64.b64decode(found[1])))
        target = folder / f"{name}-{filed.count}.webp"
        filed.count += 1
        inches = picture.width / picture.info.get("dpi", (100, 100))[0]
        lightened(picture).save(target, "webp", lossless=True, method=4, quality=100)
        size = f'width="{picture.width}" height="{picture.height}" style="--inches: {inches:.1f}"'
        return f'src="{up}figures/{escape(target.name)}" {size}'

    def drawn(found):
        target = folder / f"{name}-{filed.count}.svg"
        filed.count += 1
        target.write_text(redrawn(base64.b64decode(found[1]).decode()), encoding="utf-8")
        return f'src="{up}figures/{escape(target.name)}"'

    filed.count = 1
    return DRAWN.sub(drawn, EMBEDDED.sub(filed, text))


def redrawn(drawing):
    "A drawing without what is not seen, its lengths to a hundredth of a point: a third of the size."
    text = LONG_NUMBER.sub(lambda found: f"{float(found[1]):.2f}" if abs(float(found[1])) >= 1 else found[1], UNSEEN.sub("", drawing))
    return re.sub(r"\s*\n\s*", "\n", text).strip() + "\n"


def lightened(picture):
    "A picture whose rare colours, those of smoothed edges, are rounded by at most 8 of 255: a quarter less, and nothing to be seen."
    points = np.asarray(picture.convert("RGB"))
    code = points @ np.array([65536, 256, 1])
    colours, counts = np.unique(code, return_counts=True)
    frequent = np.isin(code, colours[counts > code.size / 2000])
    rounded = np.minimum((points.astype(int) + 8) // 16 * 16, 255).astype("uint8")
    return Image.fromarray(np.where(frequent[..., None], points, rounded))
