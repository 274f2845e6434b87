"""The commands of `eddy`: run, check, doctor and demo; what they print, in a terminal and in a pipe.

Uses the library as a user does.

May import: everything above.
"""
