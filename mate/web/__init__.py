"""The page behind `mate serve`: a JSON API on `import mate`, and plain HTML, CSS and JavaScript that use it."""
