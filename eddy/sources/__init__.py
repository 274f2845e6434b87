"""Where rows come from: files, and whatever a program yields.

`Source` is the interface; `source` makes the one that a path, an address or an object asks for. A source yields batches
with positions, and can go back to a position.

May import: values, query, snapshot, connect, and what lies in no room.
"""
