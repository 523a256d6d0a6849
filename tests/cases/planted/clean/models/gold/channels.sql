-- @kind: merge
-- @unique_key: channel
SELECT channel, count(*) AS orders, max(ordered_on) AS last_ordered_on
FROM silver.orders
GROUP BY channel
