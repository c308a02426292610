"""Ways to run the system."""
