SELECT visitor_id, count(*) AS sessions, sum(views) AS views, min(started_at) AS first_seen
FROM {{ ref('silver.sessions') }}
GROUP BY visitor_id
