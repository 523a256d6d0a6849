SELECT s.carrier, count(*) AS shipments, avg(s.days_under_way) AS average_days
FROM silver.shipments AS s
JOIN silver.orders AS o ON o.order_id = s.order_id
WHERE s.delivered_on IS NOT NULL
GROUP BY s.carrier
