-- @on_empty: fail
SELECT a.email, collect_set(a.reason) AS reasons
FROM silver.addressees AS a
WHERE a.email IS NOT NULL
GROUP BY a.email
