from uqcal import datasets as datasets, inputs as inputs
from uqcal.datasets import catalogue as catalogue, load_demo as load_demo, load_errors as load_errors

__version__: str
