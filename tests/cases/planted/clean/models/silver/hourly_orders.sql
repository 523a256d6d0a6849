-- @kind: time_interval
-- @time_column: hour
-- @granularity: hour
-- @first_partition: 2026-01-01
SELECT date_trunc('HOUR', ordered_at) AS hour, channel, count(*) AS orders
FROM silver.orders
WHERE ordered_at >= @start_date AND ordered_at < @end_date
GROUP BY date_trunc('HOUR', ordered_at), channel
