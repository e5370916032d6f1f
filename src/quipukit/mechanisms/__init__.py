"""The obfuscation mechanisms, one file each."""
