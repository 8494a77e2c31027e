"""The small lake of the API's tests."""

from tests.api.conftest import folder, lake, shared_folder

__all__ = ["folder", "lake", "shared_folder"]
