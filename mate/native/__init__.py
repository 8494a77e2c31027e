"""Support for native loops: arrays with a length, memory that is freed at once, and interrupts."""
