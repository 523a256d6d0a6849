-- @kind: append
SELECT
  view_id,
  visitor_id,
  customer_id,
  book_id,
  viewed_at,
  parse_url(referrer, 'HOST') AS referring_host
FROM bronze.page_views
WHERE visitor_id IS NOT NULL
