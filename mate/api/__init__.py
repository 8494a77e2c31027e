"""What `import mate` offers: lakes that are built, opened, searched, joined with and changed, in plain Python.

The names are gathered in `mate` itself, which loads each module here when a name of it is first used.
"""
