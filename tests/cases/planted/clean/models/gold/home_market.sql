SELECT customer_id, amount
FROM gold.customer_value
WHERE country = '{{ var("home_country") }}'
