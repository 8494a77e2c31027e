"""What `import mate` offers. Its names load the modules here when they are first used."""
