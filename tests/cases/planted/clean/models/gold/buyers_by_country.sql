SELECT
  c.country,
  count(DISTINCT o.customer_id) AS buyers,
  max_by(o.order_id, o.ordered_at) AS latest_order
FROM silver.customers AS c
JOIN silver.orders AS o ON o.customer_id = c.customer_id
GROUP BY c.country
