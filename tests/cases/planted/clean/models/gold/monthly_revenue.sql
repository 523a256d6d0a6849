WITH months AS (
  SELECT date_trunc('MONTH', ordered_on) AS month, revenue
  FROM gold.daily_revenue
)
SELECT
  month,
  sum(revenue) AS revenue,
  sum(sum(revenue)) OVER (ORDER BY month) AS revenue_so_far
FROM months
GROUP BY month
