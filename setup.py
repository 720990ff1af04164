"""For tools that look for this file: everything is in ``setup.cfg``."""

from setuptools import setup

setup()
