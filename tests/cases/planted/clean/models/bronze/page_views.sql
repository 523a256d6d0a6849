-- @kind: append
-- @partitioned_by: days(viewed_at)
SELECT view_id, visitor_id, customer_id, book_id, viewed_at, referrer
FROM {{ landing_zone('page_views') }}
