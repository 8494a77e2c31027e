"""MATE: find the tables of a data lake that join with yours on several columns."""

__version__ = "0.1.0"
