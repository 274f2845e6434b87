"""What a run looked like: a picture of its plan, its history, the page that shows them, live or from a file.

May import: values, query, reorder, steering, inspect, engine, several, connect, sinks, log, and what lies in no room.
"""
