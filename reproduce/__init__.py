"""Full runs on published data; each writes a page of the documentation."""
