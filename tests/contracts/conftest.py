from tests.driver import driver, driver_library

__all__ = ["driver", "driver_library"]
