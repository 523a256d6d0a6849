-- @kind: merge
-- @unique_key: referring_host
-- @watermark_column: last_seen
SELECT referring_host, max(viewed_at) AS last_seen, approx_count_distinct(visitor_id) AS visitors
FROM silver.page_views
WHERE referring_host IS NOT NULL
GROUP BY referring_host
