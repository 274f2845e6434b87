"""The tables of TPC-H, made small and at random, and those of its queries that have no nested aggregate: as the
specification states them, with its types and the parameters of its validation, but for ORDER BY and LIMIT, which are
for who reads the table.

The rows are made so that every query finds some.
"""

from __future__ import annotations

import datetime
import random
from decimal import Decimal

import pyarrow as pa

from eddy.values.types import column_type

DAY = datetime.date(1992, 1, 1)
MONEY = "decimal(15, 2)"
SEGMENTS = "AUTOMOBILE BUILDING FURNITURE HOUSEHOLD MACHINERY".split()
NATIONS = [
    ("ALGERIA", 0),
    ("ARGENTINA", 1),
    ("BRAZIL", 1),
    ("CANADA", 1),
    ("EGYPT", 4),
    ("FRANCE", 3),
    ("GERMANY", 3),
    ("INDIA", 2),
    ("INDONESIA", 2),
    ("SAUDI ARABIA", 4),
]
REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
COLOURS = "almond green ivory lemon plum".split()
TYPES = ["ECONOMY ANODIZED STEEL", "PROMO BURNISHED COPPER", "MEDIUM POLISHED TIN", "STANDARD BRUSHED NICKEL"]
BRANDS = ["Brand#12", "Brand#23", "Brand#34", "Brand#45"]
SIZES = [1, 3, 5, 9, 14, 19, 23, 36, 45, 49, 50]
CONTAINERS = ["SM CASE", "SM BOX", "MED BAG", "MED PKG", "LG CASE", "LG PKG"]
MODES = [*"AIR FOB MAIL RAIL SHIP TRUCK".split(), "AIR REG"]
ORDERS = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]

SCHEMAS = {
    "region": {"r_regionkey": "int64", "r_name": "string"},
    "nation": {"n_nationkey": "int64", "n_name": "string", "n_regionkey": "int64"},
    "supplier": {
        **{"s_suppkey": "int64", "s_name": "string", "s_nationkey": "int64", "s_acctbal": MONEY},
        "s_comment": "string",
    },
    "customer": {
        **{"c_custkey": "int64", "c_name": "string", "c_nationkey": "int64", "c_acctbal": MONEY},
        **{"c_mktsegment": "string", "c_phone": "string", "c_address": "string", "c_comment": "string"},
    },
    "part": {
        **{"p_partkey": "int64", "p_name": "string", "p_brand": "string", "p_type": "string"},
        **{"p_size": "int64", "p_container": "string"},
    },
    "partsupp": {"ps_partkey": "int64", "ps_suppkey": "int64", "ps_supplycost": MONEY},
    "orders": {
        **{"o_orderkey": "int64", "o_custkey": "int64", "o_orderdate": "date"},
        **{"o_orderstatus": "string", "o_orderpriority": "string", "o_shippriority": "int64"},
    },
    "lineitem": {
        **{"l_orderkey": "int64", "l_partkey": "int64", "l_suppkey": "int64", "l_quantity": MONEY},
        **{"l_extendedprice": MONEY, "l_discount": MONEY, "l_tax": MONEY},
        **{"l_returnflag": "string", "l_linestatus": "string", "l_shipdate": "date"},
        **{"l_commitdate": "date", "l_receiptdate": "date"},
        **{"l_shipmode": "string", "l_shipinstruct": "string"},
    },
}

QUERIES = {
    1: """
        SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, SUM(l_extendedprice) AS sum_base_price,
               SUM(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
               SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, AVG(l_quantity) AS avg_qty,
               AVG(l_extendedprice) AS avg_price, AVG(l_discount) AS avg_disc, COUNT(*) AS count_order
        FROM lineitem
        WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY
        GROUP BY l_returnflag, l_linestatus""",
    3: """
        SELECT l_orderkey, SUM(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
        FROM customer, orders, lineitem
        WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
          AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
        GROUP BY l_orderkey, o_orderdate, o_shippriority""",
    4: """
        SELECT o_orderpriority, COUNT(*) AS order_count
        FROM orders
        WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-07-01' + INTERVAL '3' MONTH
          AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
        GROUP BY o_orderpriority""",
    5: """
        SELECT n_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue
        FROM customer, orders, lineitem, supplier, nation, region
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey
          AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey
          AND r_name = 'ASIA' AND o_orderdate >= DATE '1994-01-01'
          AND o_orderdate < DATE '1994-01-01' + INTERVAL '1' YEAR
        GROUP BY n_name""",
    6: """
        SELECT SUM(l_extendedprice * l_discount) AS revenue
        FROM lineitem
        WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR
          AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24""",
    7: """
        SELECT supp_nation, cust_nation, l_year, SUM(volume) AS revenue
        FROM (
            SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, EXTRACT(YEAR FROM l_shipdate) AS l_year,
                   l_extendedprice * (1 - l_discount) AS volume
            FROM supplier, lineitem, orders, customer, nation n1, nation n2
            WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey
              AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey
              AND ((n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY') OR (n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE'))
              AND l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
        ) AS shipping
        GROUP BY supp_nation, cust_nation, l_year""",
    8: """
        SELECT o_year, SUM(CASE WHEN nation = 'BRAZIL' THEN volume ELSE 0 END) / SUM(volume) AS mkt_share
        FROM (
            SELECT EXTRACT(YEAR FROM o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) AS volume,
                   n2.n_name AS nation
            FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region
            WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey
              AND o_custkey = c_custkey AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey
              AND r_name = 'AMERICA' AND s_nationkey = n2.n_nationkey
              AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
              AND p_type = 'ECONOMY ANODIZED STEEL'
        ) AS all_nations
        GROUP BY o_year""",
    9: """
        SELECT nation, o_year, SUM(amount) AS sum_profit
        FROM (
            SELECT n_name AS nation, EXTRACT(YEAR FROM o_orderdate) AS o_year,
                   l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
            FROM part, supplier, lineitem, partsupp, orders, nation
            WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey
              AND p_partkey = l_partkey AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey
              AND p_name LIKE '%green%'
        ) AS profit
        GROUP BY nation, o_year""",
    10: """
        SELECT c_custkey, c_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name, c_address,
               c_phone, c_comment
        FROM customer, orders, lineitem, nation
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= DATE '1993-10-01'
          AND o_orderdate < DATE '1993-10-01' + INTERVAL '3' MONTH AND l_returnflag = 'R'
          AND c_nationkey = n_nationkey
        GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment""",
    12: """
        SELECT l_shipmode,
               SUM(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END)
                   AS high_line_count,
               SUM(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END)
                   AS low_line_count
        FROM orders, lineitem
        WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate
          AND l_shipdate < l_commitdate AND l_receiptdate >= DATE '1994-01-01'
          AND l_receiptdate < DATE '1994-01-01' + INTERVAL '1' YEAR
        GROUP BY l_shipmode""",
    14: """
        SELECT 100.00 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
               / SUM(l_extendedprice * (1 - l_discount)) AS promo_revenue
        FROM lineitem, part
        WHERE l_partkey = p_partkey AND l_shipdate >= DATE '1995-09-01'
          AND l_shipdate < DATE '1995-09-01' + INTERVAL '1' MONTH""",
    16: """
        SELECT p_brand, p_type, p_size, COUNT(DISTINCT ps_suppkey) AS supplier_cnt
        FROM partsupp, part
        WHERE p_partkey = ps_partkey AND p_brand <> 'Brand#45' AND p_type NOT LIKE 'MEDIUM POLISHED%'
          AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9)
          AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
        GROUP BY p_brand, p_type, p_size""",
    19: """
        SELECT SUM(l_extendedprice * (1 - l_discount)) AS revenue
        FROM lineitem, part
        WHERE (p_partkey = l_partkey AND p_brand = 'Brand#12'
               AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
               AND l_quantity >= 1 AND l_quantity <= 1 + 10 AND p_size BETWEEN 1 AND 5
               AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON')
           OR (p_partkey = l_partkey AND p_brand = 'Brand#23'
               AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
               AND l_quantity >= 10 AND l_quantity <= 10 + 10 AND p_size BETWEEN 1 AND 10
               AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON')
           OR (p_partkey = l_partkey AND p_brand = 'Brand#34'
               AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
               AND l_quantity >= 20 AND l_quantity <= 20 + 10 AND p_size BETWEEN 1 AND 15
               AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON')""",
    21: """
        SELECT s_name, COUNT(*) AS numwait
        FROM supplier, lineitem l1, orders, nation
        WHERE s_suppkey = l1.l_suppkey AND o_orderkey = l1.l_orderkey AND o_orderstatus = 'F'
          AND l1.l_receiptdate > l1.l_commitdate
          AND EXISTS (SELECT * FROM lineitem l2
                      WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey)
          AND NOT EXISTS (SELECT * FROM lineitem l3
                          WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey
                            AND l3.l_receiptdate > l3.l_commitdate)
          AND s_nationkey = n_nationkey AND n_name = 'SAUDI ARABIA'
        GROUP BY s_name""",
}


def tables(seed: int = 0, orders: int = 400) -> dict[str, pa.Table]:
    """All tables, with so many orders; keys refer to each other as in the specification."""
    pick = random.Random(seed)
    customers, parts, suppliers = orders // 6 + 2, orders // 5 + 2, orders // 20 + 3

    def date(first: int, last: int) -> datetime.date:
        return DAY + datetime.timedelta(days=pick.randint(first, last))

    def money(least: int, most: int) -> Decimal:
        return Decimal(pick.randint(least, most)).scaleb(-2)

    made: dict[str, list[dict[str, object]]] = {name: [] for name in SCHEMAS}
    made["region"] = [{"r_regionkey": i, "r_name": name} for i, name in enumerate(REGIONS)]
    made["nation"] = [
        {"n_nationkey": i, "n_name": name, "n_regionkey": region} for i, (name, region) in enumerate(NATIONS)
    ]
    for i in range(suppliers):
        nation = pick.randrange(len(NATIONS))
        told = {"s_name": f"Supplier#{i:09}", "s_comment": "" if i % 4 else "Customer: some Complaints"}
        own = {"s_suppkey": i, "s_nationkey": nation, "s_acctbal": money(0, 99_999)}
        made["supplier"].append({**own, **told})
    for i in range(customers):
        own = {"c_custkey": i, "c_name": f"Customer#{i:09}", "c_nationkey": pick.randrange(len(NATIONS))}
        told = {
            "c_phone": f"{i}-555",
            "c_address": pick.choice("xyz"),
            "c_comment": pick.choice(["", "so-so"]),
        }
        more = {"c_acctbal": money(-9_999, 99_999), "c_mktsegment": pick.choice(SEGMENTS)}
        made["customer"].append({**own, **told, **more})
    for i in range(parts):
        name, brand = " ".join(pick.sample(COLOURS, 2)), pick.choice(BRANDS)
        kind = {
            "p_type": pick.choice(TYPES),
            "p_size": pick.choice(SIZES),
            "p_container": pick.choice(CONTAINERS),
        }
        made["part"].append({"p_partkey": i, "p_name": name, "p_brand": brand, **kind})
        for s in pick.sample(range(suppliers), 2):
            made["partsupp"].append({"ps_partkey": i, "ps_suppkey": s, "ps_supplycost": money(100, 99_999)})
    for i in range(orders):
        ordered = date(365, 1800)
        own = {"o_orderkey": i, "o_custkey": pick.randrange(customers), "o_orderdate": ordered}
        status = {"o_orderstatus": "F" if i % 3 else "O"}
        made["orders"].append({**own, **status, "o_orderpriority": pick.choice(ORDERS), "o_shippriority": 0})
        for _ in range(pick.randint(1, 6)):
            offered = pick.choice(made["partsupp"])
            days = [pick.randint(1, 121) for _ in range(3)]
            shipped = ordered + datetime.timedelta(days=days[0])
            made["lineitem"].append(
                {
                    **{
                        "l_orderkey": i,
                        "l_partkey": offered["ps_partkey"],
                        "l_suppkey": offered["ps_suppkey"],
                    },
                    **{
                        "l_quantity": Decimal(pick.randint(1, 30)),
                        "l_extendedprice": money(90_000, 9_999_999),
                    },
                    **{"l_discount": money(0, 10), "l_tax": money(0, 8)},
                    **{
                        "l_returnflag": pick.choice("ANR"),
                        "l_linestatus": pick.choice("FO"),
                        "l_shipdate": shipped,
                    },
                    "l_commitdate": ordered + datetime.timedelta(days=days[1]),
                    "l_receiptdate": shipped + datetime.timedelta(days=days[2]),
                    "l_shipmode": pick.choice(MODES),
                    "l_shipinstruct": pick.choice(["DELIVER IN PERSON", "NONE"]),
                }
            )
    return {name: pa.Table.from_pylist(rows, schema=_schema(SCHEMAS[name])) for name, rows in made.items()}


def _schema(columns: dict[str, str]) -> pa.Schema:
    return pa.schema([(name, column_type(kind).arrow) for name, kind in columns.items()])
