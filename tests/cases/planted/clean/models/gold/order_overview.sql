SELECT
  o.order_id,
  o.customer_id,
  o.ordered_at,
  c.country,
  o.status,
  o.updated_at
FROM silver.orders AS o
LEFT JOIN silver.customers AS c ON c.customer_id = o.customer_id
