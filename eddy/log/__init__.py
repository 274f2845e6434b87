"""What an engine, and a run, tell `logging`: the names of events, what each says, and how often.

May import: nothing.
"""
