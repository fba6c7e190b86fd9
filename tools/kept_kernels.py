"""Take over compiled kernels of an earlier run, and keep those of this one: `python tools/kept_kernels.py take|keep FOLDER`.

numba compiles a loop again where the file that it stands in has another path, size or time; what a loop calls may stand in another
file. So kernels are kept under a digest of their module and of all modules of uqcal whose names they use, directly or through other
names. The path doesn't count; files have to have the same time in both runs."""
import ast
import functools
import hashlib
import shutil
import sys
from pathlib import Path

from numba.core.caching import _CacheLocator as Locator

ROOT = Path(__file__).resolve().parent.parent
KERNELS = ROOT / ".cache" / "numba"
ALWAYS = "uqcal/_base/kernels.py"  # what compiles them


@functools.cache
def module(path, root):
    """What each name of a module is at its top: the node that defines it, or the module of uqcal and the name there that it is imported from.
    And the names of its kernels."""
    found, kernels = {}, []
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
            if node.decorator_list and isinstance(node, ast.FunctionDef): kernels.append(node.name)
        elif isinstance(node, ast.ImportFrom):
            parts = list(path.relative_to(root).parts[:-1])
            start = parts[:len(parts) + 1 - node.level] if node.level else []
            place = root.joinpath(*start, *(node.module or "").split("."))
            if place.with_suffix(".py").exists():
                for alias in node.names: found[alias.asname or alias.name] = place.with_suffix(".py"), alias.name
        else:
            for name in ast.walk(node):
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store): found.setdefault(name.id, node)
    return found, kernels


def used(path, root=ROOT):
    "The files whose names the kernels of a module use, itself first."
    files, seen, waiting = {path: None}, set(), [(path, name) for name in module(path, root)[1]]
    while waiting:
        here, name = waiting.pop()
        if (here, name) in seen: continue
        seen.add((here, name))
        what = module(here, root)[0].get(name)
        if isinstance(what, tuple):
            files[what[0]] = None
            waiting.append(what)
        elif what is not None: waiting += [(here, one.id) for one in ast.walk(what) if isinstance(one, ast.Name)]
    return list(files)


def digests(root=ROOT):
    "A digest for each module of uqcal that has decorated functions."
    found = {}
    for path in sorted((root / "uqcal").rglob("*.py")):
        if not module(path, root)[1]: continue
        own, *others = used(path, root)
        text = b"\0".join(one.read_bytes() for one in [own, *sorted({*others, root / ALWAYS})])
        found[path] = hashlib.sha256(text).hexdigest()[:20]
    return found


def places(kept):
    "Where the kernels of each module stand in this clone, and where they are kept."
    for path, digest in digests().items():
        here = KERNELS / Locator.get_suitable_cache_subpath(str(path))
        yield here, kept / f"{'.'.join(path.relative_to(ROOT).with_suffix('').parts)}-{digest}", f"{path.stem}.*.nb?"


def take(kept):
    for here, there, names in places(kept):
        if not there.is_dir(): continue
        here.mkdir(parents=True, exist_ok=True)
        for file in there.glob(names): shutil.copy2(file, here)


def keep(kept):
    "What is kept is what this clone has: older kernels go."
    new = kept.with_name(f"{kept.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    for here, there, names in places(new):
        for file in sorted(here.glob(names)):
            there.mkdir(exist_ok=True)
            shutil.copy2(file, there)
    shutil.rmtree(kept, ignore_errors=True)
    new.rename(kept)


if __name__ == "__main__":
    {"take": take, "keep": keep}[sys.argv[1]](Path(sys.argv[2]))
