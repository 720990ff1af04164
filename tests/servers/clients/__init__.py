"""Programs that drive a server with other people's clients and print what they saw as JSON."""
