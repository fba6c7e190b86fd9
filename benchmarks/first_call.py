"""What the first validation of 2,000 rows costs where no loop has been compiled yet: loops, user seconds cold and warm, and their ratio.

    .venv/bin/python benchmarks/first_call.py
"""
import os
import resource
import subprocess
import sys
import tempfile

VALIDATE = """
import resource
from numba.core import event
import numpy as np, uqcal

class Listener(event.Listener):
    "User seconds of each function that is compiled, without those that it calls."
    def __init__(self): self.begun, self.done = [], []
    def on_start(self, one): self.begun.append([spent(), 0.0])
    def on_end(self, one):
        since, inner = self.begun.pop()
        whole = spent() - since
        if self.begun: self.begun[-1][1] += whole
        function = one.data["dispatcher"].py_func
        self.done.append((whole - inner, f"{function.__module__}.{function.__qualname__}"))

def spent(): return resource.getrusage(resource.RUSAGE_SELF).ru_utime

listener = Listener()
event.register("numba:compile", listener)
rng = np.random.default_rng(0)
u = rng.gamma(4, 0.25, 2000)
print(uqcal.validate(1.2 * u * rng.normal(size=2000), uqcal.MeanStd(0, u), rng=1).verdict)
for seconds, name in sorted(listener.done, reverse=True): print(f"{seconds:8.2f} s  {name}")
"""
COMMAND = [os.path.join(os.path.dirname(sys.executable), "uqcal"), "validate", "demo"]


def user_seconds(command, cache, folder):
    "User seconds of a fresh process with that cache, and what it printed."
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, cwd=folder, env=os.environ | {"NUMBA_CACHE_DIR": cache}, capture_output=True, text=True, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, done.stdout


def main():
    for name, command in (("uqcal.validate of 2,000 rows, mean ± std", [sys.executable, "-c", VALIDATE]), ("uqcal validate demo", COMMAND)):
        with tempfile.TemporaryDirectory() as folder:
            user_seconds([sys.executable, "-c", "import uqcal.verbs"], folder, folder)   # modules are on disk and read
            cold, said = user_seconds(command, folder, folder)
            warm = min(user_seconds(command, folder, folder)[0] for _ in range(2))
        print(f"{name}: {cold:.1f} s cold, {warm:.1f} s warm, ratio {cold / warm:.2f}")
        if command is not COMMAND: print(f"{said.count(' s  ')} functions compiled:\n" + said.partition("\n")[2], end="")


if __name__ == "__main__": main()
