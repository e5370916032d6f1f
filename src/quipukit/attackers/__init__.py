"""The curious side: attackers that rank a query log by what the obfuscated queries betray."""
