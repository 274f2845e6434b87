"""A PostgreSQL server for all tests of this folder, and a database for each."""

import pytest

from tests.postgresql.cluster import Cluster, Database


@pytest.fixture(scope="session")
def cluster():
    with Cluster() as found:
        yield found


@pytest.fixture
def db(cluster, request):
    with Database(cluster, f"test_{abs(hash(request.node.nodeid)) % 10**12}") as found:
        yield found
