-- @on_empty: keep
SELECT
  o.ordered_on,
  o.channel,
  count(DISTINCT o.order_id) AS orders,
  sum(l.amount) AS revenue
FROM silver.orders AS o
JOIN silver.order_lines AS l ON l.order_id = o.order_id
GROUP BY o.ordered_on, o.channel
