"""The page behind `mate serve`: a JSON API on top of `import mate`, and plain HTML, CSS and JavaScript that use it."""
