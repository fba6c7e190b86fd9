"""One test of many cases: it runs them all, and names each that fails."""
import pytest


def every_case(names, cases, ids=None):
    "As pytest.mark.parametrize, but one test, for cases that take no fixture; with ids, or a function that makes them, a case is named by its own."
    names, cases = [name.strip() for name in names.split(",")], list(cases)

    def named(number, values):
        if callable(ids): return ids(values[0])
        if ids is not None: return list(ids)[number]
        return ", ".join(f"{name}={value!r:.120}" for name, value in zip(names, values))

    def of_one(test):
        def run():
            failed = []
            for number, values in enumerate(cases):
                if len(names) == 1: values = (values,)
                try: test(**dict(zip(names, values)))
                except (Exception, pytest.fail.Exception) as error: failed.append((named(number, values), error))
            if not failed: return
            said = [f"{case}: {type(error).__name__} {error!s:.400}" for case, error in failed]
            raise AssertionError(f"{len(failed)} of {len(cases)} cases fail:\n" + "\n".join(said)) from failed[0][1]
        run.__name__, run.__qualname__, run.__doc__, run.__module__ = test.__name__, test.__qualname__, test.__doc__, test.__module__
        run.pytestmark = list(getattr(test, "pytestmark", []))
        return run
    return of_one
