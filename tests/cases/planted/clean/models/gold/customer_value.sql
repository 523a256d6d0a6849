-- @description: What a customer has bought so far
WITH bought AS (
  SELECT o.customer_id, count(*) AS lines, sum(l.amount) AS amount, max(o.ordered_on) AS last_ordered_on
  FROM silver.orders AS o
  JOIN silver.order_lines AS l ON l.order_id = o.order_id
  GROUP BY o.customer_id
)
SELECT
  c.customer_id,
  c.country,
  coalesce(b.lines, 0) AS lines,
  coalesce(b.amount, 0) AS amount,
  b.last_ordered_on,
  CASE WHEN b.amount >= 500 THEN 'large' WHEN b.amount >= 100 THEN 'medium' ELSE 'small' END AS size
FROM silver.customers AS c
LEFT JOIN bought AS b ON b.customer_id = c.customer_id
