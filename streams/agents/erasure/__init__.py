"""What expires by itself (:mod:`.expiry`)."""
