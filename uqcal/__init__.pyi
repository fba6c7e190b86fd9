from uqcal import bootstrap as bootstrap
from uqcal import brownian as brownian
from uqcal import cli as cli
from uqcal import confidence_curves as confidence_curves
from uqcal import datasets as datasets
from uqcal import generative as generative
from uqcal import inputs as inputs
from uqcal import recalibration as recalibration
from uqcal import report as report
from uqcal import statistics as statistics
from uqcal import validation as validation
from uqcal.bootstrap import bca_interval as bca_interval
from uqcal.confidence_curves import confidence_curve as confidence_curve
from uqcal.datasets import catalogue as catalogue
from uqcal.datasets import load_demo as load_demo
from uqcal.datasets import load_errors as load_errors
from uqcal.generative import simulate_errors as simulate_errors
from uqcal.report import write_report as write_report
from uqcal.statistics import cc as cc
from uqcal.statistics import conditional_calibration as conditional_calibration
from uqcal.statistics import ence as ence
from uqcal.statistics import zms as zms
from uqcal.statistics import zmse as zmse
from uqcal.validation import simulated_reference as simulated_reference
from uqcal.validation import validate as validate

__version__: str
