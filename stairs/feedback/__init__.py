"""Kernels of feedback: entries that wait, what they wait for, and how they come back.

Presence of keys and of parts of keys, blacklists, judging, waking, and the visits in the middle of a batch. They are
compiled when an engine first asks for feedback.

May import: the other modules of `stairs`.
"""
