-- @kind: time_interval
-- @time_column: viewed_on
-- @granularity: day
-- @first_partition: 2026-01-01
SELECT
  to_date(viewed_at) AS viewed_on,
  book_id,
  count(*) AS views,
  count(DISTINCT visitor_id) AS visitors
FROM silver.page_views
WHERE viewed_at >= @start_date AND viewed_at < @end_date
GROUP BY to_date(viewed_at), book_id
