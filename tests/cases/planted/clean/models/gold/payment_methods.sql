SELECT *
FROM (SELECT method, year(paid_on) AS year, amount FROM silver.payments)
PIVOT (sum(amount) FOR method IN ('card' AS card, 'transfer' AS transfer, 'voucher' AS voucher))
