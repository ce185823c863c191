"""What changes for code that comes from other libraries, measured."""
