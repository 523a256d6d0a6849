"""What holds a run to its limits: retries, deadlines, cancellation, heartbeat, throttling, circuit breaker."""
