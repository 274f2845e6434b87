"""What others may read of an engine or a run while it works: metrics, for Prometheus and OpenTelemetry.

May import: values, query, engine, several, and what lies in no room.
"""
