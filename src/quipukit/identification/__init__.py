"""Which mechanism made these obfuscated queries, and with which parameter?"""
