"""Every public function that takes data, against arguments drawn at random: a result, or ValueError or TypeError that names an argument; no warning, nothing else, no hang."""
import hostile
import numpy as np
import pytest
import test_refusals as table
from cases import blocks

NAMES = sorted(table.TABLE)
MOST = {"n_boot": 200, "n_mc": 200, "n_resamples": 200, "n_points": 200, "size": 200, "n": 2000, "n_calibration": 200}


def arguments_of(number):
    "A row of the table, and its arguments with one to three of them hostile."
    rng = np.random.default_rng([1, number])
    name = NAMES[number % len(NAMES)]
    call, arguments, kinds = table.prepared(name)
    chosen = [parameter for parameter in kinds if kinds[parameter] not in ("free", "flag", "text", "masks")]
    for parameter in rng.permutation(chosen)[:rng.choice([1, 1, 1, 2, 3])]:
        value = arguments.get(parameter)
        if isinstance(value, dict): wrong = {key: hostile.hostile(rng, column) for key, column in value.items()}
        else: wrong = hostile.hostile(rng, value)
        if parameter in MOST and isinstance(wrong, (int, np.integer)) and not isinstance(wrong, bool) and wrong > MOST[parameter]: wrong = MOST[parameter]
        arguments[parameter] = wrong
    words = {word for parameter in kinds for word in (parameter, table.TABLE[name].aliases.get(parameter, parameter), parameter.split("_")[0])}
    return name, call, arguments, words


def shown(arguments): return ", ".join(f"{parameter}={value!r:.300}" for parameter, value in arguments.items())


@pytest.mark.parametrize("numbers", blocks(900, 60_000))
def test_calls(numbers):
    faults = []
    for number in numbers:
        name, call, arguments, words = arguments_of(number)
        if fault := hostile.fault_of(call, arguments, words): faults.append(f"{number} {name}: {fault}")
    assert not faults, "\n".join(faults)
