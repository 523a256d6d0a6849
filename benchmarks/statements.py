"""The twelve statements that all sides run, the source that they read, and how it changes."""

from __future__ import annotations

__all__ = ["CHANGED_MODEL", "SOURCE", "SOURCE_COLUMNS", "STATEMENTS", "changed_statement", "update_statement"]

SOURCE = "web.raw.events"
"""Of a declared source; four of the statements read it, each its own kind of event."""

SOURCE_COLUMNS = {
    "event_id": ("bigint", "id"),
    "user_id": ("bigint", "pmod(xxhash64(id, 1), 50000)"),
    "product_id": ("bigint", "pmod(xxhash64(id, 2), 2000)"),
    "kind": (
        "string",
        "element_at(array('view', 'view', 'cart', 'order', 'login'), CAST(pmod(xxhash64(id, 3), 5) AS INT) + 1)",
    ),
    "country": (
        "string",
        "element_at(array('DE', 'FR', 'IT', 'NL', 'SE', 'US'), CAST(pmod(xxhash64(id, 4), 6) AS INT) + 1)",
    ),
    "quantity": ("int", "CAST(pmod(xxhash64(id, 5), 9) + 1 AS INT)"),
    "price": ("decimal(10,2)", "CAST(pmod(xxhash64(id, 6), 20000) / 100 AS DECIMAL(10,2))"),
    "happened_at": ("timestamp", "timestamp_seconds(1767225600 + pmod(xxhash64(id, 7), 7776000))"),
}
"""Type of each column, and how it comes from the row's number alone: the same rows on every machine."""

_VIEWS_IN_A_HUNDRED = 40


def update_statement(table: str, batch: int, *, views_only: bool) -> str:
    """Change one row in a hundred, in columns that every reader uses. `views_only`: all of them in what one reads."""
    one_in = _VIEWS_IN_A_HUNDRED if views_only else 100
    rows = f"pmod(xxhash64(event_id, {100 + batch}), {one_in}) = 0"
    if views_only:
        rows += " AND kind = 'view'"
    return (
        f"UPDATE {table} SET quantity = quantity % 9 + 1, price = CAST(price + 1 AS DECIMAL(10,2)),"
        f" happened_at = happened_at + INTERVAL 1 HOUR WHERE {rows}"
    )


CHANGED_MODEL = "gold.daily_revenue"


def changed_statement(batch: int) -> str:
    """The query of `CHANGED_MODEL`, another one for each `batch`."""
    return STATEMENTS[CHANGED_MODEL].replace("GROUP BY", f"WHERE amount > {batch + 1}\nGROUP BY", 1)


STATEMENTS = {
    "silver.orders": """
SELECT event_id AS order_id, user_id, product_id, country, quantity, price, quantity * price AS amount, happened_at
FROM web.raw.events
WHERE kind = 'order'
""",
    "silver.views": """
SELECT event_id, user_id, product_id, country, price, happened_at
FROM web.raw.events
WHERE kind = 'view'
""",
    "silver.carts": """
SELECT event_id, user_id, product_id, quantity, happened_at
FROM web.raw.events
WHERE kind = 'cart'
""",
    "silver.users": """
SELECT user_id, min(country) AS country, min(happened_at) AS first_seen, max(happened_at) AS last_seen, count(*) AS n
FROM web.raw.events
WHERE kind = 'login'
GROUP BY user_id
""",
    "silver.products": """
SELECT product_id, avg(price) AS average_price, count(DISTINCT user_id) AS visitors
FROM silver.views
GROUP BY product_id
""",
    "gold.daily_revenue": """
SELECT to_date(happened_at) AS day, country, count(*) AS orders, sum(amount) AS revenue
FROM silver.orders
GROUP BY to_date(happened_at), country
""",
    "gold.hourly_views": """
SELECT date_trunc('HOUR', happened_at) AS hour, count(*) AS views, count(DISTINCT user_id) AS visitors
FROM silver.views
GROUP BY date_trunc('HOUR', happened_at)
""",
    "gold.user_value": """
SELECT u.user_id, u.country, u.first_seen, count(o.order_id) AS orders, coalesce(sum(o.amount), 0) AS spent
FROM silver.users AS u
LEFT JOIN silver.orders AS o ON o.user_id = u.user_id
GROUP BY u.user_id, u.country, u.first_seen
""",
    "gold.product_sales": """
SELECT p.product_id, p.visitors, sum(o.quantity) AS sold, sum(o.amount) AS revenue
FROM silver.products AS p
JOIN silver.orders AS o ON o.product_id = p.product_id
GROUP BY p.product_id, p.visitors
""",
    "gold.abandoned_carts": """
SELECT c.user_id, count(*) AS carts, sum(c.quantity) AS items
FROM silver.carts AS c
LEFT ANTI JOIN silver.orders AS o ON o.user_id = c.user_id AND o.product_id = c.product_id
GROUP BY c.user_id
""",
    "gold.best_sellers": """
SELECT product_id, revenue, place
FROM (SELECT *, row_number() OVER (ORDER BY revenue DESC, product_id) AS place FROM gold.product_sales)
WHERE place <= 100
""",
    "gold.countries": """
SELECT country, sum(orders) AS orders, sum(revenue) AS revenue, max(revenue) AS best_day
FROM gold.daily_revenue
GROUP BY country
""",
}
"""In an order in which each finds what it reads."""
