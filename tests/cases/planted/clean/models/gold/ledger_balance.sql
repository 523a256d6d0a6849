SELECT
  booked_on,
  kind,
  sum(amount) AS amount,
  sum(sum(amount)) OVER (PARTITION BY kind ORDER BY booked_on) AS balance
FROM silver.ledger
GROUP BY booked_on, kind
