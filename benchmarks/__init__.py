"""Speed and memory of quipukit, side by side with other software and with the machine itself.

``python -m benchmarks`` runs everything, ``python -m benchmarks NAME`` one file, ``--quick`` smaller sizes. Machines
differ and are never idle, so every figure with a target is a ratio of two things measured in turn in one run, or a
time that the target names.
"""
