"""Kernels of notebooks as copies of one process that has imported what most of them need.

To import numpy, pandas, scipy, matplotlib, numba and scikit-learn takes seconds, and each notebook has a process of its own. So one process
imports them, and all of uqcal but its command line, compiles a loop and draws a figure, and is copied (forked) for each notebook. A copy has no names of its own: a notebook
that forgets an import fails as in any other kernel. `serve` is the process, `ask` stands between it and the manager of a kernel.
"""
import gc
import importlib
import io
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import threading

IMPORTED = ("numpy", "pandas", "scipy.stats", "scipy.optimize", "scipy.special", "matplotlib.figure", "matplotlib.backends.backend_agg",
            "numba", "joblib", "tqdm", "sklearn.isotonic", "sklearn.linear_model", "sklearn.model_selection",
            "sklearn.ensemble", "statsmodels.api", "ipykernel.kernelapp", "ipykernel.ipkernel", "ipykernel.zmqshell", "ipykernel.debugger")
SKETCHED = {"bbox_inches": None, "dpi": 30}   # pictures are drawn, but not looked at: small, once instead of once more for their edges, and not laid out


def serve(address):
    "Import, then copy this process for each connection, until standard input is closed."
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"   # as kernels have it, before matplotlib is imported
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"                       # a warning of the debugger that kernels come with
    gc.disable()
    for name in IMPORTED: importlib.import_module(name)
    for name in of_uqcal(): importlib.import_module(name)
    warm()
    sketch()
    gc.set_threshold(50_000)
    gc.freeze()                                                              # what is there lasts: no copy looks through it for garbage
    gc.enable()
    sys.modules["pandas"].set_option("display.max_columns", 20)              # as pandas has it where it is imported in a kernel
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        print("ready", flush=True)
        os.dup2(2, 1)
        while sys.stdin not in select.select([server, sys.stdin], [], [])[0]:
            connection, _ = server.accept()
            while ended(): pass
            if os.fork(): connection.close()
            else:
                server.close()
                return connection


def of_uqcal():
    "The modules of the package, without its command line."
    package = importlib.import_module("uqcal")
    return [module.name for module in pkgutil.walk_packages(package.__path__, "uqcal.") if not module.name.startswith("uqcal._command")]


def warm():
    "What a first loop and a first figure set up: numba's types and compiler, fonts and signs of formulas."
    numpy, numba = sys.modules["numpy"], sys.modules["numba"]
    numba.njit(nogil=True)(lambda x: x.sum())(numpy.zeros(2))
    numba.vectorize(["float64(float64)"])(lambda x: 2 * x)
    figure = sys.modules["matplotlib.figure"].Figure()
    sys.modules["matplotlib.backends.backend_agg"].FigureCanvasAgg(figure)
    figure.subplots().set_title("$x^2$")
    figure.savefig(io.BytesIO(), dpi=30)


def sketch():
    "Let figures be drawn as they stand: to find room for labels takes longer than to draw them. What a page stores was laid out when it was stored."
    canvas = sys.modules["matplotlib.backend_bases"].FigureCanvasBase
    drawn = canvas.print_figure

    def print_figure(self, *args, **options):
        self.figure.set_layout_engine(None)
        return drawn(self, *args, **options)
    canvas.print_figure = print_figure
    sys.modules["matplotlib"].rcParams["axes.titley"] = 1.0                  # where a title has to be without labels above the axes, which aren't looked for


def ended():
    "Whether a copy has ended that had not been waited for."
    try: return os.waitpid(-1, os.WNOHANG)[0]
    except ChildProcessError: return False


def run(connection):
    "Be the kernel that a connection asks for, until it is asked to end or the connection is closed."
    asked = json.loads(connection.makefile().readline())
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    threading.Thread(target=lambda: (connection.recv(1), os._exit(1)), daemon=True).start()
    from ipykernel.kernelapp import launch_new_instance
    launch_new_instance(["-f", asked["file"], f"--IPKernelApp.parent_handle={os.getppid()}", f"--InlineBackend.print_figure_kwargs={SKETCHED}"])


def ask(address, file):
    "Ask for a kernel, and last as long as it does."
    signal.signal(signal.SIGINT, signal.SIG_IGN)   # the manager interrupts before it asks the kernel to end
    environment = {key: value for key, value in os.environ.items() if key != "JPY_PARENT_PID"}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        connection.sendall(json.dumps({"folder": os.getcwd(), "environment": environment, "file": file}).encode() + b"\n")
        connection.recv(1)


if __name__ == "__main__":
    del sys.path[0]   # the folder of tests
    if sys.argv[1] == "ask": ask(*sys.argv[2:])
    elif connection := serve(sys.argv[2]): run(connection)
