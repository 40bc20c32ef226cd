"""Files on disk: written whole, laid out, fetched and verified, unpacked safely."""
