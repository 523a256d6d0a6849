-- @description: What came in on each day
SELECT to_date(paid_at) AS day, count(*) AS payments, sum(amount) AS revenue
FROM silver.payments
GROUP BY to_date(paid_at)
