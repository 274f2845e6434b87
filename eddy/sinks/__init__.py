"""Where results go: files and folders of files, standard output, memory, and sinks of one's own.

`Sink` is the interface; `sink` makes the one that a path asks for. What is written is prepared, and counts once it is
committed: then it is there exactly once, whatever happens to the process.

May import: values, query, connect, and what lies in no room.
"""
