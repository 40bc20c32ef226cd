"""Files from elsewhere: found or downloaded within limits, verified, unpacked safely."""
