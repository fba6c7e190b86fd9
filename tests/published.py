"""The published set that many tests use: errors of a random forest, which does not travel with the package."""
import functools

import pytest

from uqcal.sample.datasets import DatasetUnavailable, load_errors


@functools.cache
def _found():
    try: return load_errors("Diffusion_RF"), ""
    except DatasetUnavailable as error: return None, str(error)


def diffusion():
    "The set; a test, or a whole file of tests, is skipped where it is neither in UQCAL_DATA_DIR nor to be downloaded."
    data, reason = _found()
    if data is None: pytest.skip(reason, allow_module_level=True)
    return data
