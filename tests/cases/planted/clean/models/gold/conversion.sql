SELECT
  v.viewed_on,
  sum(v.views) AS views,
  count(DISTINCT o.order_id) AS orders,
  try_divide(count(DISTINCT o.order_id), sum(v.views)) AS rate
FROM silver.daily_page_views AS v
LEFT JOIN silver.orders AS o ON o.ordered_on = v.viewed_on
GROUP BY v.viewed_on
