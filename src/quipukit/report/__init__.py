"""The report: one page for browsers, figures for papers, tables as CSV and LaTeX. See `quipukit.report.write`."""
