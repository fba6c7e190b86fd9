"""Can a stated uncertainty be believed?"""

__version__ = "0.1.0"
