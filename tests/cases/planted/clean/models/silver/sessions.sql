-- @kind: merge
-- @unique_key: session_id
-- @description: Views of one visitor with less than half an hour between them
WITH gaps AS (
  SELECT
    visitor_id,
    view_id,
    viewed_at,
    lag(viewed_at) OVER (PARTITION BY visitor_id ORDER BY viewed_at, view_id) AS before
  FROM silver.page_views
),
numbered AS (
  SELECT
    visitor_id,
    view_id,
    viewed_at,
    sum(CASE WHEN before IS NULL OR viewed_at - before > INTERVAL 30 MINUTES THEN 1 ELSE 0 END)
      OVER (PARTITION BY visitor_id ORDER BY viewed_at, view_id) AS number
  FROM gaps
)
SELECT
  concat_ws('-', visitor_id, CAST(number AS STRING)) AS session_id,
  visitor_id,
  min(viewed_at) AS started_at,
  max(viewed_at) AS ended_at,
  count(*) AS views
FROM numbered
GROUP BY visitor_id, number
