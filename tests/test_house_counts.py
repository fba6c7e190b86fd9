"""What a visitor counts in the house: classes that are not cut into ancestors, rooms of one idea, words in rooms of their own."""
import ast
import collections
import importlib
import io
import re
import tokenize

import notebooks
from every_case import every_case

import uqcal
from uqcal._base.tickets import Storable

PACKAGE = notebooks.ROOT / "uqcal"
PATHS = [path for path in sorted(PACKAGE.rglob("*.py")) if path.name != "_modidx.py"]
NAMES = {path: ".".join(path.relative_to(PACKAGE).with_suffix("").parts) for path in PATHS}
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in PATHS}
CLASSES = {node.name: (NAMES[path], node) for path, tree in TREES.items() for node in tree.body if isinstance(node, ast.ClassDef)}
READ = re.compile(r"sentence|caution|headline|conclusion|next_step|\bline$")


def parents(name):
    return [base for node in CLASSES[name][1].bases if (base := getattr(node, "id", getattr(node, "attr", ""))) in CLASSES]


def depth(name): return max((1 + depth(parent) for parent in parents(name)), default=0)


def functions():
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef): yield path, node


def test_modules_are_found(): assert len(PATHS) > 80 and len(CLASSES) > 150 and sum(1 for _ in functions()) > 2_000


def test_no_private_class_is_cut_into_ancestors():
    children = collections.Counter(parent for name in CLASSES for parent in parents(name))
    assert not [name for name in CLASSES if name.startswith("_") and children[name] == 1]


def test_inheritance_is_at_most_four_deep(): assert max(map(depth, CLASSES)) <= 4


def test_folders_hold_at_most_twelve_rooms():
    folders = collections.Counter(str(path.parent.relative_to(PACKAGE)) for path in PATHS if path.name != "__init__.py" and path.parent != PACKAGE)
    assert max(folders.values()) <= 12, folders


def code_lines(path):
    "How many lines hold code: no docstrings, comments, blanks."
    text = path.read_text(encoding="utf-8")
    documents = [node.body[0] for node in ast.walk(TREES[path]) if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and node.body
                 and isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)]
    said = {line for node in documents for line in range(node.lineno, node.end_lineno + 1)}
    dull = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    held = [part for part in tokenize.generate_tokens(io.StringIO(text).readline) if part.type not in dull]
    return len({line for part in held for line in range(part.start[0], part.end[0] + 1)} - said)


def test_a_room_holds_at_most_600_lines_of_code():
    sizes = {NAMES[path]: code_lines(path) for path in PATHS}
    assert sum(sizes.values()) > 30_000 and not {name: size for name, size in sizes.items() if size > 600}


def test_a_private_name_has_one_meaning_within_a_folder():
    rooms = collections.defaultdict(set)
    for path, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name.startswith("_"): rooms[path.parent, node.name].add(NAMES[path])
    assert len(rooms) > 1_000
    assert not {name: sorted(found) for (_, name), found in rooms.items() if len(found) > 1}


def imported(path):
    "Rooms of the package that a room imports, within its functions as well."
    for node in ast.walk(TREES[path]):
        if not isinstance(node, ast.ImportFrom): continue
        above = list(path.relative_to(PACKAGE).parts[:-node.level]) if node.level else (node.module or "").split(".")[:1]
        if not node.level and above != ["uqcal"]: continue
        base = [*above, *filter(None, (node.module or "").split("."))] if node.level else node.module.split(".")[1:]
        for target in (".".join(base), *(".".join([*base, name.name]) for name in node.names)):
            if target in NAMES.values() and target != NAMES[path]: yield target


def circles(arrows):
    "Pairs that reach each other."
    reach = {}
    for start in arrows:
        seen, left = set(), [start]
        while left:
            new = arrows.get(left.pop(), set()) - seen
            seen |= new
            left += new
        reach[start] = seen
    return [(a, b) for a in arrows for b in reach[a] if a < b and a in reach.get(b, ())]


def test_imports_of_rooms_and_of_folders_point_one_way():
    rooms = {NAMES[path]: set(imported(path)) for path in PATHS}
    assert sum(map(len, rooms.values())) > 500
    folders = collections.defaultdict(set)
    for room, targets in rooms.items():
        for target in targets:
            if "." in room and "." in target and room.split(".")[0] != target.split(".")[0]: folders[room.split(".")[0]].add(target.split(".")[0])
    assert not circles(rooms) + circles(folders)


def test_a_circle_is_seen(): assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == [("b", "c")]


def test_conditional_expressions_stay_few():
    counted = sum(isinstance(node, ast.IfExp) for tree in TREES.values() for node in ast.walk(tree))
    assert counted < MOST_CONDITIONALS, counted


MOST_CONDITIONALS = 700


def test_no_branch_reads_a_sentence():
    "Whether a text stands in a sentence, begins or ends it, is no ground to decide on."
    reads = []
    for path, function in functions():
        for node in ast.walk(function):
            if isinstance(node, ast.Compare) and any(isinstance(kind, (ast.In, ast.NotIn)) for kind in node.ops):
                texts = isinstance(node.left, ast.Constant) and isinstance(node.left.value, str) and " " in node.left.value.strip()
                if texts and any(READ.search(getattr(part, "attr", getattr(part, "id", ""))) for part in ast.walk(node.comparators[0])): reads.append(f"{NAMES[path]}:{node.lineno}")
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("startswith", "endswith", "partition", "rpartition"):
                if READ.search(getattr(node.func.value, "attr", getattr(node.func.value, "id", ""))): reads.append(f"{NAMES[path]}:{node.lineno}")
    assert not reads, reads


JUDGES = ("errors.conclusions", "errors.validation", "errors.steps", "intervals.coverage", "intervals.coverage_along", "intervals.effective_rows", "probabilities.calibration",
          "probabilities.differences", "corrections.error_recalibration", "corrections.probability_recalibration",
          "comparison.model_comparison")
SENTENCE = re.compile(r"([a-z]{2,},? ){6}[a-z]{2,}")


@every_case("room", JUDGES)
def test_who_decides_holds_no_english(room):
    "Refusals, docstrings, plots and pages aside."
    path = next(path for path, name in NAMES.items() if name == room)
    found = []
    for function in [node for node in ast.walk(TREES[path]) if isinstance(node, ast.FunctionDef)]:
        if re.search("plot|page|refuse", function.name): continue
        aside = {id(part) for node in ast.walk(function) if isinstance(node, ast.Raise) or isinstance(node, ast.keyword) and node.arg == "method" or isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in
                 ("NothingToTest", "refuse", "_refuse_open", "set", "annotate", "ValueError", "TypeError", "set_title") for part in ast.walk(node)}
        for node in ast.walk(function):
            if isinstance(node, ast.FunctionDef) and node.body and isinstance(node.body[0], ast.Expr): aside |= {id(part) for part in ast.walk(node.body[0])}
            if isinstance(node, ast.FunctionDef): aside |= {id(part) for default in (node.returns, *[argument.annotation for argument in node.args.args]) if default is not None for part in ast.walk(default)}
        for node in ast.walk(function):
            if id(node) not in aside and isinstance(node, ast.Constant) and isinstance(node.value, str) and SENTENCE.search(node.value): found.append((node.lineno, node.value))
    assert not found, found


def annotated(node):
    "Names of types that stand in the signature of a function, or in the fields and public methods of a class."
    if isinstance(node, ast.FunctionDef):
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        types = [node.returns, *(one.annotation for one in arguments if one is not None)]
        return set(re.findall(r"\w+", " ".join(ast.unparse(one) for one in types if one is not None)))
    fields = [part.annotation for part in node.body if isinstance(part, ast.AnnAssign)]
    methods = [part for part in node.body if isinstance(part, ast.FunctionDef) and not part.name.startswith("_")]
    found = set(re.findall(r"\w+", " ".join(ast.unparse(one) for one in [*fields, *node.bases])))
    return found.union(*map(annotated, methods))


def listed(tree):
    return [name for node in tree.body if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__" and isinstance(node.value, ast.List) for name in ast.literal_eval(node.value)]


VERBS_RETURN = {"CoverageAlong", "ForecastAlong", "PartitionedErrors", "PartitionedCalibration", "PartitionedComparison", "PartitionedComparisons",
                "GroupPair", "ComparedGroups"}  # results of verbs that are typed Any, and parts of them


def test_public_names_of_rooms_are_what_users_call():
    "A name that only other rooms, its own page and tests need begins with an underscore; so do modules that hold nothing else."
    public = {(NAMES[path], name) for path, tree in TREES.items() for name in listed(tree) if path.name != "__init__.py" and not any(part.startswith("_") for part in NAMES[path].split("."))}
    reached = {name for room, name in public if "." not in room} | {name for names in uqcal._CONTENTS.values() for name in names}
    made = {node.name: node for tree in TREES.values() for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    new = set(reached)
    while new:
        new = set().union(*(annotated(made[name]) for name in new if name in made)) - reached
        new = {name for name in new if isinstance(made.get(name), ast.ClassDef)}
        reached |= new
    for path in PATHS: importlib.import_module(f"uqcal.{NAMES[path]}".removesuffix(".__init__"))
    stored = {cls.__name__ for cls in descendants(Storable)}  # states name them
    assert len(public) > 200
    assert not sorted(f"{room}.{name}" for room, name in public if name not in reached | stored | VERBS_RETURN)


def test_users_call_some_two_hundred_names():
    "The package's own and those of the second layer, each counted once; rooms list beside them what is returned."
    called = {name for path, tree in TREES.items() for name in listed(tree) if "." not in NAMES[path] and path.name != "__init__.py"}
    called |= {name for names in uqcal._CONTENTS.values() for name in names}
    assert 150 < len(called) <= 220, len(called)


def descendants(cls):
    for one in cls.__subclasses__(): yield from (one, *descendants(one))


def test_types_of_a_signature_are_seen():
    function, record = ast.parse("def f(a: 'A', *, b: B | None) -> list[C]: ...\nclass R(Base):\n    x: D\n    def read(self) -> E: ...").body
    assert annotated(function) >= {"A", "B", "C"} and annotated(record) >= {"Base", "D", "E"}
