SELECT
  weekday(o.ordered_on) AS weekday,
  sum(l.amount) AS revenue
FROM silver.orders AS o
JOIN silver.order_lines AS l USING (order_id)
GROUP BY weekday(o.ordered_on)
