"""Addresses of servers, such as kafka://localhost:9092/orders: how they are read, and which library each needs.

May import: log, values, query, and what lies in no room.
"""
