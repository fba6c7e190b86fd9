"""help() says what everything means: numpydoc's validator passes on all public names, and each parameter is described."""
import dataclasses
import importlib
import inspect
import sys
import textwrap

import notebooks
from every_case import every_case
import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

ROOT = notebooks.ROOT
sys.path.insert(0, str(ROOT / "tools"))
MODULES = sorted(".".join(path.relative_to(ROOT / "uqcal").with_suffix("").parts) for path in (ROOT / "uqcal").rglob("[a-z]*.py"))
assert len(MODULES) > 50
FOLDERS = sorted({module.rpartition(".")[0] for module in MODULES})
OFF = {
    "GL01": "the summary begins right after the quotes",
    "SS05": "the summary names what comes out, which may begin with a plural",
    "ES01": "what one line says needs no second paragraph",
    "RT03": "the summary says what comes out; the comment beside -> only adds shape, unit, range",
    "SA01": "the page links to related pages",
    "EX01": "the page shows each function at work",
}


def is_ours(thing):
    return getattr(thing.fget if isinstance(thing, property) else thing, "__module__", "").startswith("uqcal.")


def of_folder(folder):
    "Each public name of the modules in a folder: the name with that of its module, and what it is."
    for module in MODULES:
        if module.rpartition(".")[0] == folder: yield from ((f"{module}.{name}", thing) for name, thing in public(module))


def public(name):
    "The functions, classes and methods that a module exports, by the name to report; those that uqcal's classes inherit from uqcal's own, too."
    module = importlib.import_module(f"uqcal.{name}")
    for key in module.__all__:
        thing = getattr(module, key)
        if inspect.isfunction(thing) or inspect.isclass(thing): yield key, thing
        if not inspect.isclass(thing): continue
        members = ((member, inspect.getattr_static(thing, member)) for member in dir(thing) if not member.startswith("_"))
        for member, found in members:
            found = getattr(found, "__func__", found)
            if (inspect.isfunction(found) or isinstance(found, property)) and is_ours(found): yield f"{key}.{member}", found


def fields(thing):
    "The fields of a dataclass or a named tuple."
    return getattr(thing, "_fields", None) or [field.name for field in (dataclasses.fields(thing) if dataclasses.is_dataclass(thing) else ())]


def described(thing, *sections):
    "What a docstring says of each name in some of its sections."
    doc = NumpyDocString(inspect.getdoc(thing) or "")
    return {name.strip().lstrip("*"): " ".join(one.desc).strip() for section in sections for one in doc[section] for name in one.name.split(",")}


@pytest.mark.parametrize("folder", FOLDERS)
def test_numpydoc_accepts_every_public_docstring(folder):
    faults = []
    for name, thing in of_folder(folder):
        off = {*OFF, "PR01"} if fields(thing) else OFF  # a result's fields are Attributes; the next test asks for each
        faults += [f"{name}: {code} {text}" for code, text in validate(f"uqcal.{name}")["errors"] if code not in off]
    assert not faults, "\n".join(faults)


@every_case("folder", FOLDERS)
def test_help_describes_every_parameter(folder):
    silent = []
    for name, thing in of_folder(folder):
        if isinstance(thing, property): continue
        if fields(thing): names, said = fields(thing), described(thing, "Parameters", "Attributes")
        elif inspect.isclass(thing) and not is_ours(thing.__init__): continue
        else: names, said = [one for one in inspect.signature(thing).parameters if one not in ("self", "cls")], described(thing, "Parameters")
        silent += [f"{name}: {one}" for one in names if not one.startswith("_") and not said.get(one)]
    assert not silent, "no comment beside the parameter in the notebook:\n" + "\n".join(silent)


@pytest.mark.parametrize("folder", FOLDERS)
def test_help_says_what_comes_of_no_seed(folder):
    for name, thing in of_folder(folder):
        if isinstance(thing, property) or fields(thing) or (inspect.isclass(thing) and not is_ours(thing.__init__)): continue
        seed = inspect.signature(thing).parameters.get("rng")
        if seed and seed.default is None: assert "None" in described(thing, "Parameters")["rng"], name


MODULE = '''\
    from dataclasses import dataclass


    def width(y: "Axes | None" = None,  # bounds, shape (n, 2),
                                        # lower first
              *,
              kind: str = "mean",  # n_bins or "mean"
              rng: int | np.random.Generator | None = None,  # seed or generator
              ) -> float:  # in the unit of y
        """Mean width of all.

        Kept as it is. Raises ValueError or TypeError for crossed bounds, KeyError where \\N{BULLET} is, and as
        `check`. Source: Pernot (2024), Eq. 2; Fisher (1935)."""
        return 1.0  # the body stays


    def check(x: int):  # x
        "Nothing. Raises OSError that names the file."


    @dataclass
    class Found:
        "What `find` returns."
        size: int  # a number
        _hidden: int = 0


    def find(x: int,  # ν of it
             ) -> Found: ...
'''
EXPECTED = '''\
        """Mean width of all.

        Kept as it is.

        Parameters
        ----------
        y : Axes | None, optional
            Bounds, shape (n, 2), lower first.
        kind : str, default "mean"
            `n_bins` or "mean".
        rng : int | np.random.Generator | None, optional
            Seed or generator; None draws fresh entropy: numbers differ from run to run.

        Returns
        -------
        float
            In the unit of y.

        Raises
        ------
        ValueError, TypeError
            For crossed bounds.
        KeyError
            Where \\N{BULLET} is.
        OSError
            As `check`.

        References
        ----------
        Pernot (2024), Eq. 2; Fisher (1935).
        """
        return 1.0  # the body stays
'''


def test_sections_are_made_from_comments_and_closing_sentences(tmp_path):
    import docstrings
    module = tmp_path / "module.py"
    module.write_text(textwrap.dedent(MODULE), encoding="utf-8")
    docstrings.write(tmp_path)
    text = module.read_text(encoding="utf-8")
    assert textwrap.indent(textwrap.dedent(EXPECTED), "    ") in text
    assert '    """What `find` returns.\n\n    Attributes\n    ----------\n    size : int\n        A number.\n    """\n    size: int  # a number\n' in text
    assert "Raises\n    ------\n    OSError\n        Names the file.\n" in text
    docstrings.write(tmp_path)
    assert module.read_text(encoding="utf-8") == text


def test_a_reference_to_errors_that_are_not_named_is_refused(tmp_path):
    import docstrings
    (tmp_path / "module.py").write_text('def f():\n    "Nothing. Raises as `unheard_of`."\n', encoding="utf-8")
    with pytest.raises(SystemExit, match="module.py, f: no exception is named"): docstrings.write(tmp_path)
