"""Settings for all tests."""

from hypothesis import settings

# No test asserts a time: the first call of a compiled kernel may take seconds.
settings.register_profile("default", deadline=None)
settings.load_profile("default")
