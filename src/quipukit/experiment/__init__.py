"""The experiment: from queries and a grid of settings to a Result; plan, run, resume."""
