"""Run a notebook afresh and compare what it prints with what it holds.

Numbers agree within the relative tolerance that the notebook states in its prose, in the words "relative tolerance of 1e-6".
Differences below an absolute floor of 1e-12 don't count, since rounding noise around zero has no stable digits; where smaller
numbers matter (tails of distributions), the prose states "absolute tolerance of 1e-300" and that is taken. Whole numbers agree
exactly. The words between the numbers agree too, whatever the white space. Pictures aren't compared, only that they are there.
"""
import contextlib
import html
import os
import re
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
COPIED = str(Path(__file__).with_name("copied_kernel.py"))
FLOOR = 1e-12
FLOAT = r"[-+−]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
NUMBER = re.compile(FLOAT)
STATED = re.compile(r"relative\s+tolerance\s+of\s+(\d[\d.]*(?:[eE][-+]?\d+)?)")
STATED_FLOOR = re.compile(r"absolute\s+tolerance\s+of\s+(\d[\d.]*(?:[eE][-+]?\d+)?)")
MACHINE = re.compile(r"(?:/root|/home|/work|/tmp|/Users)/\S*")
ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")


@dataclass(frozen=True)
class Tolerance:
    relative: float
    absolute: float = FLOOR


def every_notebook(root=ROOT):
    "Notebooks in the order in which they should start: studies and tutorials, the longest ones, before the modules."
    found = [p for p in (root / "nbs").rglob("*.ipynb") if not any(part.startswith((".", "_")) for part in p.relative_to(root).parts)]
    return sorted(found, key=lambda p: ("studies" not in p.parts, "tutorials" not in p.parts, [-ord(c) for c in p.name]))


def read(path):
    return nbformat.read(path, as_version=4)


@contextlib.contextmanager
def prepared_kernels():
    "The address of a process that is copied for each kernel, where processes can be copied; see copied_kernel.py."
    if not sys.platform.startswith("linux"):
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        address = str(Path(folder) / "kernels")
        with subprocess.Popen([sys.executable, COPIED, "serve", address], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            yield address
            process.stdin.close()


class _CopiedKernelManager(AsyncKernelManager):
    address = None

    def format_kernel_cmd(self, extra_arguments=None):
        return [sys.executable, "-I", "-S", COPIED, "ask", self.address, self.connection_file]


def run(path, timeout=1800, prepared=None):
    "The notebook of a file executed afresh, in its folder."
    return execute(read(path), path.parent, timeout, prepared)


def execute(notebook, folder, timeout=1800, prepared=None):
    "The same notebook, executed in a new kernel of this interpreter that is started in a folder; prepared is an address of `prepared_kernels`."
    for cell in notebook.cells:
        if cell.cell_type == "code": cell.outputs, cell.execution_count = [], None
    specs = KernelSpecManager(kernel_dirs=[], ensure_native_kernel=True)  # no kernel that a user may have installed
    profile = ROOT / ".cache" / "ipython"  # nor a user's startup files, nor another place for figures than the notebook
    profile.mkdir(parents=True, exist_ok=True)
    environment = {key: value for key, value in os.environ.items() if key != "MPLBACKEND"} | {"IPYTHONDIR": str(profile)}
    with tempfile.TemporaryDirectory() as sockets:  # files, where there are such: a port that is free now may be another's a moment later
        place = {"transport": "ipc", "ip": str(Path(sockets) / "s")} if hasattr(socket, "AF_UNIX") else {}
        kernel = (_CopiedKernelManager if prepared else AsyncKernelManager)(kernel_name="python3", kernel_spec_manager=specs, **place)
        kernel.address = prepared
        client = NotebookClient(notebook, km=kernel, timeout=timeout, resources={"metadata": {"path": str(folder)}})
        client.execute(env=environment, cleanup_kc=True)  # a kernel of our own would outlive the notebook
    return notebook


def texts(output):
    "The kind of an output and each text in it that is compared; a figure's text says only that it is one."
    if output.output_type == "stream": return f"stream {output.name}", {"text": output.text}
    if output.output_type == "error": return "error", {"text": output.ename}
    data = output.data
    shown = {} if any(kind.startswith("image/") for kind in data) else {kind: data[kind] for kind in data if kind.startswith("text/")}
    if "text/html" in shown: shown["text/html"] = strip_tags(shown["text/html"])
    return f"{output.output_type} {' '.join(sorted(data))}", shown


def strip_tags(source):
    "The words and numbers of an HTML output, without tags, scripts and styles."
    source = re.sub(r"(?is)<(style|script)\b.*?</\1\s*>|<!--.*?-->", " ", source)
    return html.unescape(re.sub(r"<[^>]*>", " ", source))


def outputs(notebook):
    "The outputs of each code cell, consecutive pieces of one stream joined."
    for position, cell in enumerate(notebook.cells):
        if cell.cell_type != "code": continue
        joined = []
        for output in cell.outputs:
            if joined and output.output_type == "stream" and joined[-1].output_type == "stream" and joined[-1].name == output.name:
                joined[-1] = nbformat.from_dict({**joined[-1], "text": joined[-1].text + output.text})
            else: joined.append(output)
        yield position, joined


def tolerance(notebook):
    "The tolerance that the prose states, or None."
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    relative, absolute = STATED.search(prose), STATED_FLOOR.search(prose)
    if relative is None: return None
    return Tolerance(float(relative[1].rstrip(".")), float(absolute[1].rstrip(".")) if absolute else FLOOR)


def holds_numbers(notebook):
    return any(NUMBER.search(text) for _, found in outputs(notebook) for output in found for text in texts(output)[1].values())


def blemishes(notebook):
    "What must not stand in an output: errors, anything on standard error, paths and addresses of one machine."
    found = []
    for position, cell_outputs in outputs(notebook):
        for output in cell_outputs:
            kind, shown = texts(output)
            if kind == "error": found.append(f"cell {position}: an error, {output.ename}: {output.evalue}")
            if kind == "stream stderr": found.append(f"cell {position}: standard error says {output.text.strip()[:300]!r}")
            for text in shown.values():
                found += [f"cell {position}: {match[0]!r}, which holds on one machine only" for match in [MACHINE.search(text), ADDRESS.search(text)] if match]
    return found


def _value(token):
    return float(token.replace(",", "").replace("−", "-"))


def _agree(stored, fresh, allowed):
    if stored == fresh: return True
    if not re.search(r"[.eE]", stored + fresh): return False
    a, b = _value(stored), _value(fresh)
    return abs(a - b) <= max(allowed.relative * max(abs(a), abs(b)), allowed.absolute)


def text_differences(stored, fresh, allowed):
    "What differs between two texts: words, or numbers by more than is allowed."
    words = [["".join(piece.split()) for piece in NUMBER.split(text)] for text in (stored, fresh)]
    if words[0] != words[1]:
        if len(words[0]) != len(words[1]): return [f"stored {_short(stored)}, fresh {_short(fresh)}"]
        return [f"stored text {a!r}, fresh {b!r}" for a, b in zip(*words) if a != b]
    pairs = zip(NUMBER.findall(stored), NUMBER.findall(fresh))
    return [f"stored {a}, fresh {b}" for a, b in pairs if not _agree(a, b, allowed)]


def _short(text, length=400):
    text = text.strip()
    return repr(text if len(text) <= length else text[:length] + " …")


def differences(stored, fresh, allowed):
    "Every difference between the outputs of two runs of a notebook, with the cell it is in."
    found = []
    for (position, old), (_, new) in zip(outputs(stored), outputs(fresh), strict=True):
        kinds = [[texts(output)[0] for output in side] for side in (old, new)]
        if kinds[0] != kinds[1]:
            found.append(f"cell {position}: stored outputs {kinds[0]}, fresh {kinds[1]}")
            continue
        for a, b in zip(old, new):
            (_, before), (_, after) = texts(a), texts(b)
            for kind in before:
                found += [f"cell {position}, {kind}: {what}" for what in text_differences(before[kind], after[kind], allowed)]
    return found
