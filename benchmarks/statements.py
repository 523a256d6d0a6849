"""The twelve statements that both sides run, and the source that they read."""

from __future__ import annotations

SOURCE = "raw.events"

SOURCE_COLUMNS = {
    "event_id": "id",
    "user_id": "pmod(xxhash64(id, 1), 50000)",
    "product_id": "pmod(xxhash64(id, 2), 2000)",
    "kind": "element_at(array('view', 'view', 'view', 'cart', 'order'), CAST(pmod(xxhash64(id, 3), 5) AS INT) + 1)",
    "country": "element_at(array('DE', 'FR', 'IT', 'NL', 'SE', 'US'), CAST(pmod(xxhash64(id, 4), 6) AS INT) + 1)",
    "quantity": "CAST(pmod(xxhash64(id, 5), 9) + 1 AS INT)",
    "price": "CAST(pmod(xxhash64(id, 6), 20000) / 100 AS DECIMAL(10,2))",
    "happened_at": "timestamp_seconds(1767225600 + pmod(xxhash64(id, 7), 7776000))",
}
"""Column and how it comes from the row's number alone: the same rows on every machine."""

STATEMENTS = {
    "silver.orders": """
SELECT event_id AS order_id, user_id, product_id, country, quantity, price, quantity * price AS amount, happened_at
FROM raw.events
WHERE kind = 'order'
""",
    "silver.views": """
SELECT event_id, user_id, product_id, country, happened_at
FROM raw.events
WHERE kind = 'view'
""",
    "silver.carts": """
SELECT event_id, user_id, product_id, quantity, happened_at
FROM raw.events
WHERE kind = 'cart'
""",
    "silver.users": """
SELECT user_id, min(country) AS country, min(happened_at) AS first_seen, max(happened_at) AS last_seen, count(*) AS n
FROM raw.events
GROUP BY user_id
""",
    "silver.products": """
SELECT product_id, avg(price) AS average_price, count(DISTINCT user_id) AS visitors
FROM raw.events
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
